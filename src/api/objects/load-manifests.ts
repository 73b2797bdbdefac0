import { NameOwners, objectKeys, podKeys } from '../values/name-owners.ts';
import { readManifests } from '../decoding/manifest-document.ts';
import type { SupportedKind } from '../decoding/manifest-kinds.ts';
import { type ManifestObject, readerWarnings, problemOf } from '../decoding/manifest-object.ts';
import type { ManifestProblem } from '../text/manifest-problem.ts';
import { ProblemList } from '../text/problem-list.ts';
import { maxManifestObjects } from '../text/reading-budget.ts';
import type { Pod } from '../types.ts';
import { type ConfigObject, configObjectKey } from '../values/config-object.ts';
import { declaredPods, isReplicated } from '../values/declared-pods.ts';
import { declaredClaims } from '../values/replica-pod.ts';
import { type DeclaredWorkload, isWorkloadKind, workloadKey } from '../values/workload.ts';
import type { ClassPosition } from '../values/resolve-classes.ts';
import type { DependsOnPosition } from '../values/depends-on.ts';
import { type Declarations, declaredObjects } from './declared-objects.ts';
import { loadConfigObject } from './load-config-object.ts';
import { loadPodObject } from './load-pod.ts';
import { loadWorkload } from './load-workload.ts';
import type { StaticPodOptions } from './static-pod.ts';
import type { ManifestNode } from '../text/manifest-node.ts';

const acceptAnnotation = 'kubelet-ts.io/accept-warnings';

/** The content of a manifest text. If any problem is an error, nothing in the text may run. */
export interface Manifests {
  /** Static pods of this node, defaulted and validated. Includes the pods of workloads once nothing rolls out. */
  pods: Pod[];
  configObjects: ConfigObject[];
  /** Workloads, such as Deployments, that own some of the pods. Absent if the text declares only pods. */
  workloads?: DeclaredWorkload[];
  problems: ManifestProblem[];
  /** Kinds of the objects that have errors. A workload counts as a Pod. Absent unless all positions are wanted. */
  broken?: SupportedKind[];
  /** Positions of the depends-on annotations; absent if there are none. */
  dependsOnPositions?: DependsOnPosition[];
  /** Positions of the class names of pods. Absent if no pod names a class. */
  classPositions?: ClassPosition[];
  /** UIDs derived from manifests that set no UID. Absent if every manifest sets one. */
  derivedUIDs?: string[];
  /** Positions of names and UIDs. Absent unless all positions are wanted. */
  namePositions?: NamePosition[];
  /** True if an empty list explicitly declares that no pod should run. Absent otherwise. */
  declaresNothing?: boolean;
}

/** The position of a name, a UID or a port of the node, by its key from `claimedKeys`. */
export interface NamePosition {
  key: string;
  field: string;
  line: number;
  column: number;
}

/**
 * Loads everything that a manifest text declares: every document and every item of its lists. The kubelet reads only
 * one Pod, or a list of Pods.
 */
export function loadManifests(bytes: Uint8Array | string, options: StaticPodOptions): Manifests {
  const pods: Pod[] = [];
  const configObjects: ConfigObject[] = [];
  const workloads: DeclaredWorkload[] = [];
  const dependsOnPositions: DependsOnPosition[] = [];
  const classPositions: ClassPosition[] = [];
  const derivedUIDs: string[] = [];
  const namePositions: NamePosition[] = [];
  const broken: SupportedKind[] = [];
  const problems = new ProblemList();
  const names = new DeclaredNames();
  const ignored: Declarations['ignored'] = [];
  let isStatement = false;
  let hasEmptyList = false;
  let objectsLeft = maxManifestObjects;
  for (const reading of readManifests(bytes, options.origin)) {
    if (objectsLeft < 0) break;
    if ('problem' in reading) {
      problems.add(reading.problem);
      objectsLeft--;
      continue;
    }
    const found = declaredObjects(reading.document, objectsLeft);
    objectsLeft -= found.count;
    for (const object of found.ignored) ignored.push(object);
    hasEmptyList ||= found.hasEmptyList;
    // Objects that are not needed here are declared on purpose, such as a Namespace in a separate file.
    isStatement ||= found.objects.length > 0 || found.hasEmptyList || found.ignored.some(({ isMissed }) => !isMissed);
    problems.addAll(found.problems);
    if (found.objects.length > 0) problems.addAll(readerWarnings(reading.document));
    for (const { kind, object } of found.objects) {
      const loaded = loadObject(kind, object, options);
      problems.addAll(withAccepted(object, loaded.problems));
      if (loaded.problems.some(({ severity }) => severity === 'error'))
        broken.push(isWorkloadKind(kind) ? 'Pod' : kind);
      const { workload } = loaded;
      const own = workload ? declaredPods(workload, options.hash) : podsOf(loaded);
      const repeated = repeatedName(names, object, loaded, own);
      if (options.allPositions === true) namePositions.push(...positionsOfNames(object, loaded, own));
      if (repeated) problems.add(repeated);
      else if (loaded.configObject) configObjects.push(loaded.configObject);
      else {
        if (workload) workloads.push(workload);
        for (const pod of own) {
          const { uid: podUID } = pod.metadata;
          pods.push(pod);
          if (loaded.dependsOnPosition) dependsOnPositions.push({ ...loaded.dependsOnPosition, podUID });
          classPositions.push(...(loaded.classPositions ?? []).map((position) => ({ ...position, podUID })));
          if (loaded.isUIDDerived === true) derivedUIDs.push(podUID);
        }
      }
      for (const claim of workload && isReplicated(workload) ? declaredClaims(workload) : []) {
        const taken = names.claim(titleOf(configObjectKey(claim)), object, 'spec.volumeClaimTemplates');
        if (taken) problems.add(taken);
        else configObjects.push(claim);
      }
    }
  }
  for (const { kind, object, reason, isMissed } of ignored) {
    const message = `kind "${kind}" is not supported: ${reason}`;
    const severity = !isMissed ? 'note' : isStatement ? 'warning' : 'error';
    problems.addAll(withAccepted(object, [problemOf(object, { field: 'kind', message, severity })]));
  }
  if (objectsLeft < 0) problems.add(tooManyObjects(options.origin));
  if (!isStatement && problems.isEmpty) problems.add(nothingIn(options.origin));
  return {
    pods,
    configObjects,
    ...(workloads.length > 0 && { workloads }),
    problems: problems.list(options.origin),
    ...(dependsOnPositions.length > 0 && { dependsOnPositions: dependsOnPositions }),
    ...(classPositions.length > 0 && { classPositions: classPositions }),
    ...(derivedUIDs.length > 0 && { derivedUIDs }),
    ...(namePositions.length > 0 && { namePositions: namePositions }),
    ...(hasEmptyList && pods.length === 0 && { declaresNothing: true }),
    ...(options.allPositions === true && { broken }),
  };
}

interface LoadedObject {
  pod?: Pod;
  dependsOnPosition?: DependsOnPosition;
  classPositions?: ClassPosition[];
  isUIDDerived?: boolean;
  configObject?: ConfigObject;
  workload?: DeclaredWorkload;
  problems: ManifestProblem[];
}

const podsOf = ({ pod }: LoadedObject): Pod[] => (pod ? [pod] : []);

function loadObject(kind: SupportedKind, object: ManifestObject, options: StaticPodOptions): LoadedObject {
  switch (kind) {
    case 'Pod':
      return loadPodObject(object, options);
    case 'ConfigMap':
    case 'Secret':
    case 'RuntimeClass':
    case 'PriorityClass':
    case 'PersistentVolumeClaim':
    case 'PersistentVolume':
    case 'CSIDriver':
    case 'Service':
    case 'Endpoints':
    case 'EndpointSlice':
      return loadConfigObject(kind, object);
    case 'CronJob':
    case 'DaemonSet':
    case 'Deployment':
    case 'Job':
    case 'ReplicaSet':
    case 'ReplicationController':
    case 'StatefulSet':
      return loadWorkload(kind, object, options);
  }
}

/**
 * The problem of a repeated declaration. Checks a pod's name before its UID, because a repeated pod repeats both.
 */
function repeatedName(
  names: DeclaredNames,
  object: ManifestObject,
  { configObject, workload }: LoadedObject,
  pods: readonly Pod[],
): ManifestProblem | undefined {
  for (const { metadata } of pods) {
    const { namespace, name, uid } = metadata;
    const repeated = names.claim(`Pod ${namespace}/${name}`, object, 'metadata.name');
    if (repeated) return { ...repeated, repeatedPod: { namespace, name } };
    const repeatedUID = names.claim(`uid ${uid}`, object, 'metadata.uid');
    if (repeatedUID) return repeatedUID;
  }
  // Its pods do not tell if it wants none now.
  if (workload) return names.claim(titleOf(workloadKey(workload)), object, 'metadata.name');
  if (!configObject) return undefined;
  for (const key of objectKeys(configObject)) {
    const repeated = names.claim(titleOf(key), object, fieldOfKey(configObject, key));
    if (repeated) return repeated;
  }
  return undefined;
}

function positionsOfNames(
  object: ManifestObject,
  { configObject, workload }: LoadedObject,
  pods: readonly Pod[],
): NamePosition[] {
  const position = (key: string, field: string): NamePosition => {
    const { line = 0, column = 0 } = problemOf(object, { field, message: '', severity: 'error' });
    return { key, field, line, column };
  };
  return [
    ...pods.flatMap(podKeys).map((key) => position(key, key.startsWith('UID/') ? 'metadata.uid' : 'metadata.name')),
    ...(workload ? [position(workloadKey(workload), 'metadata.name')] : []),
    ...(configObject ? objectKeys(configObject).map((key) => position(key, fieldOfKey(configObject, key))) : []),
  ];
}

/** The field that has one of the `objectKeys`. */
function fieldOfKey(object: ConfigObject, key: string): string {
  if (object.kind !== 'Service' || key === configObjectKey(object)) return 'metadata.name';
  if (key.startsWith('ClusterIP/')) return 'spec.clusterIP';
  const index = object.ports.findIndex(({ protocol, nodePort }) => key === `NodePort/${protocol}/${nodePort}`);
  return `spec.ports[${index}].nodePort`;
}

/** Such as `Secret default/registry` or `NodePort TCP/30080`. */
const titleOf = (key: string): string => key.replace('/', ' ');

function tooManyObjects(origin: string): ManifestProblem {
  const message = `The manifest declares more than ${maxManifestObjects} objects`;
  return { origin, message, hint: 'Is this a manifest? No node runs that many pods.', severity: 'error' };
}

function nothingIn(origin: string): ManifestProblem {
  return {
    origin,
    message: 'The text declares nothing',
    hint: 'Write "apiVersion: v1", "kind: List" and "items: []" when nothing is to run.',
    severity: 'error',
  };
}

/** Finds names that a single text declares twice. */
class DeclaredNames {
  private readonly claims = new NameOwners<{ object: ManifestObject; field: string }>();

  /**
   * Returns a problem if the name is already declared. `what` is the name, such as `Pod default/web`; `field` is its
   * path.
   */
  claim(what: string, object: ManifestObject, field: string): ManifestProblem | undefined {
    const first = this.claims.owner(what);
    if (!first) {
      this.claims.set({ object, field }, [what]);
      return undefined;
    }
    const { line = 0 } = problemOf(first.object, { field: first.field, message: '', severity: 'error' });
    const message = `${what} is declared on line ${line} already`;
    return problemOf(object, { field, message, hint: 'Remove one of them, or change it.', severity: 'error' });
  }
}

/**
 * The problems of an object, with the warnings that its annotation accepts turned into notes. The annotation names
 * their fields as `validate` prints them, such as `kind, spec.completions`, or is `*` for all.
 */
function withAccepted(object: ManifestObject, problems: readonly ManifestProblem[]): readonly ManifestProblem[] {
  const hasWarning = problems.some(({ severity }) => severity === 'warning');
  const written = hasWarning ? annotationOf(object.node) : undefined;
  if (written === undefined) return problems;
  const accepted = new Set(written.split(',').map((field) => field.trim()));
  return problems.map((problem) => {
    const isAccepted = accepted.has('*') || accepted.has(fieldIn(object, problem));
    return problem.severity === 'warning' && isAccepted ? { ...problem, severity: 'note' } : problem;
  });
}

/** The field within the object, even for an item of a List. */
function fieldIn({ path }: ManifestObject, { field = '' }: ManifestProblem): string {
  return path !== '' && field.startsWith(`${path}.`) ? field.slice(path.length + 1) : field;
}

function annotationOf(node: ManifestNode): string | undefined {
  const annotations = member(member(node, 'metadata'), 'annotations');
  const written = member(annotations, acceptAnnotation);
  return written?.kind === 'string' ? written.value : undefined;
}

function member(node: ManifestNode | undefined, key: string): ManifestNode | undefined {
  return node?.kind === 'object' ? node.entries.findLast((entry) => entry.key === key)?.value : undefined;
}

import { NameOwners, podKeys } from '../values/name-owners.ts';
import { readManifests } from '../decoding/manifest-document.ts';
import { type SupportedKind, supportedKinds } from '../decoding/manifest-kinds.ts';
import { type ManifestObject, notesOf, problemOf } from '../decoding/manifest-object.ts';
import type { ManifestProblem } from '../text/manifest-problem.ts';
import { ProblemList } from '../text/problem-list.ts';
import { maxManifestObjects } from '../text/reading-budget.ts';
import type { Pod } from '../types.ts';
import { type ConfigObject, configObjectKey } from '../values/config-object.ts';
import type { PersistentVolumeClaim } from '../values/persistent-volume.ts';
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
  /** Static pods of this node, defaulted and validated. */
  pods: Pod[];
  configObjects: ConfigObject[];
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

/** The position of a name or a UID, by its key from `claimedKeys`. */
export interface NamePosition {
  key: string;
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
    if (found.objects.length > 0) problems.addAll(notesOf(reading.document));
    for (const { kind, object } of found.objects) {
      const loaded = loadObject(kind, object, options);
      problems.addAll(withAccepted(object, loaded.problems));
      if (loaded.problems.some(({ severity }) => severity === 'error')) broken.push(isWorkload(kind) ? 'Pod' : kind);
      const repeated = repeatedName(names, object, loaded);
      if (options.allPositions === true) namePositions.push(...placesOfNames(object, loaded));
      if (repeated) problems.add(repeated);
      else if (loaded.pod) {
        pods.push(loaded.pod);
        if (loaded.dependsOnPlace) dependsOnPositions.push(loaded.dependsOnPlace);
        if (loaded.classPositions) classPositions.push(...loaded.classPositions);
        if (loaded.isUIDDerived === true) derivedUIDs.push(loaded.pod.metadata.uid);
      } else if (loaded.configObject) configObjects.push(loaded.configObject);
      for (const claim of loaded.claims ?? []) {
        const taken = names.claim(nameOf(claim), object, 'spec.volumeClaimTemplates');
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
  dependsOnPlace?: DependsOnPosition;
  classPositions?: ClassPosition[];
  isUIDDerived?: boolean;
  configObject?: ConfigObject;
  /** Claims of the pod of a StatefulSet. */
  claims?: PersistentVolumeClaim[];
  problems: ManifestProblem[];
}

const isWorkload = (kind: SupportedKind): boolean =>
  supportedKinds[kind].startsWith('apps/') ||
  supportedKinds[kind].startsWith('batch/') ||
  kind === 'ReplicationController';

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
function repeatedName(names: DeclaredNames, object: ManifestObject, loaded: LoadedObject): ManifestProblem | undefined {
  const { pod, configObject } = loaded;
  if (pod) {
    const { namespace, name, uid } = pod.metadata;
    const repeated = names.claim(`Pod ${namespace}/${name}`, object, 'metadata.name');
    if (repeated) return { ...repeated, repeatedPod: { namespace, name } };
    return names.claim(`uid ${uid}`, object, 'metadata.uid');
  }
  if (!configObject) return undefined;
  return names.claim(nameOf(configObject), object, 'metadata.name');
}

function placesOfNames(object: ManifestObject, { pod, configObject }: LoadedObject): NamePosition[] {
  const keys = [...(pod ? podKeys(pod) : []), ...(configObject ? [configObjectKey(configObject)] : [])];
  return keys.map((key) => {
    const field = key.startsWith('UID/') ? 'metadata.uid' : 'metadata.name';
    const { line = 0, column = 0 } = problemOf(object, { field, message: '', severity: 'error' });
    return { key, line, column };
  });
}

/** Such as `Secret default/registry`. */
const nameOf = (object: ConfigObject): string => configObjectKey(object).replace('/', ' ');

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

import { readManifests } from '../decoding/manifest-document.ts';
import type { CarriedOutKind } from '../decoding/manifest-kinds.ts';
import { type ManifestObject, notesOf, problemOf } from '../decoding/manifest-object.ts';
import type { ManifestProblem } from '../text/manifest-problem.ts';
import { ProblemList } from '../text/problem-list.ts';
import { maxManifestObjects } from '../text/reading-budget.ts';
import type { Pod } from '../types.ts';
import type { ConfigObject } from '../values/config-object.ts';
import type { DependsOnPlace } from '../values/depends-on.ts';
import { type Declarations, declaredObjects } from './declared-objects.ts';
import { loadConfigObject } from './load-config-object.ts';
import { loadPodObject } from './load-pod.ts';
import { loadWorkload } from './load-workload.ts';
import type { StaticPodOptions } from './static-pod.ts';

/** Everything a manifest text declares. It is bad when one of the problems is an error; nothing of it is to run then. */
export interface Manifests {
  /** Static pods of this node, defaulted and validated. */
  pods: Pod[];
  configObjects: ConfigObject[];
  problems: ManifestProblem[];
  /** Where pods say what they wait for; absent: none does. */
  dependsOnPlaces?: DependsOnPlace[];
}

/**
 * Reads a manifest text all the way to what it declares: every document of it, every item of its lists. The kubelet
 * reads one Pod, or a list of Pods.
 */
export function loadManifests(bytes: Uint8Array | string, options: StaticPodOptions): Manifests {
  const pods: Pod[] = [];
  const configObjects: ConfigObject[] = [];
  const dependsOnPlaces: DependsOnPlace[] = [];
  const problems = new ProblemList();
  const names = new DeclaredNames();
  const ignored: Declarations['ignored'] = [];
  let isStatement = false;
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
    isStatement ||= found.objects.length > 0 || found.hasEmptyList;
    problems.addAll(found.problems);
    if (found.objects.length > 0) problems.addAll(notesOf(reading.document));
    for (const { kind, object } of found.objects) {
      const loaded = loadObject(kind, object, options);
      problems.addAll(loaded.problems);
      const repeated = repeatedName(names, object, loaded);
      if (repeated) problems.add(repeated);
      else if (loaded.pod) {
        pods.push(loaded.pod);
        if (loaded.dependsOnPlace) dependsOnPlaces.push(loaded.dependsOnPlace);
      } else if (loaded.configObject) configObjects.push(loaded.configObject);
    }
  }
  for (const { kind, object, reason } of ignored) {
    const message = `kind "${kind}" is not carried out here: ${reason}`;
    problems.add(problemOf(object, { field: 'kind', message, severity: isStatement ? 'warning' : 'error' }));
  }
  if (objectsLeft < 0) problems.add(tooManyObjects(options.origin));
  if (!isStatement && problems.isEmpty) problems.add(nothingIn(options.origin));
  return {
    pods,
    configObjects,
    problems: problems.list(options.origin),
    ...(dependsOnPlaces.length > 0 && { dependsOnPlaces }),
  };
}

interface LoadedObject {
  pod?: Pod;
  dependsOnPlace?: DependsOnPlace;
  configObject?: ConfigObject;
  problems: ManifestProblem[];
}

function loadObject(kind: CarriedOutKind, object: ManifestObject, options: StaticPodOptions): LoadedObject {
  switch (kind) {
    case 'Pod':
      return loadPodObject(object, options);
    case 'ConfigMap':
    case 'Secret':
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

/** What is declared already; of a pod the name counts before the UID, which is the same when the pods are. */
function repeatedName(names: DeclaredNames, object: ManifestObject, loaded: LoadedObject): ManifestProblem | undefined {
  const { pod, configObject } = loaded;
  if (pod) {
    const { namespace, name, uid } = pod.metadata;
    return (
      names.claim(`Pod ${namespace}/${name}`, object, 'metadata.name') ??
      names.claim(`uid ${uid}`, object, 'metadata.uid')
    );
  }
  if (!configObject) return undefined;
  const { kind, namespace, name } = configObject;
  return names.claim(`${kind} ${namespace}/${name}`, object, 'metadata.name');
}

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

/** Finds what is declared twice in one text. */
class DeclaredNames {
  readonly #claims = new Map<string, { object: ManifestObject; field: string }>();

  /** The problem of declaring something a second time; `what` names it, such as `Pod default/web`, and `field` says where. */
  claim(what: string, object: ManifestObject, field: string): ManifestProblem | undefined {
    const first = this.#claims.get(what);
    if (!first) {
      this.#claims.set(what, { object, field });
      return undefined;
    }
    const { line = 0 } = problemOf(first.object, { field: first.field, message: '', severity: 'error' });
    const message = `${what} is declared on line ${line} already`;
    return problemOf(object, { field, message, hint: 'Remove one of them, or change it.', severity: 'error' });
  }
}

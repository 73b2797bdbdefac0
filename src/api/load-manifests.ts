import type { ConfigObject } from './config-object.ts';
import { decodePod } from './decode-manifest.ts';
import { type Declarations, declaredObjects } from './declared-objects.ts';
import { toValidPod } from './load-pod.ts';
import { readManifests } from './manifest-document.ts';
import { type ManifestObject, notesOf, problemOf } from './manifest-object.ts';
import type { ManifestProblem } from './manifest-problem.ts';
import type { StaticPodOptions } from './static-pod.ts';
import type { Pod } from './types.ts';

/** Everything a manifest text declares. It is bad when one of the problems is an error; nothing of it is to run then. */
export interface Manifests {
  /** Static pods of this node, defaulted and validated. */
  pods: Pod[];
  configObjects: ConfigObject[];
  problems: ManifestProblem[];
}

export interface LoadManifestsOptions extends StaticPodOptions {
  /** What becomes of a CronJob: an error, or one run at once. By default an error. */
  cronJobs?: 'refuse' | 'runOnce';
}

/**
 * Reads a manifest text all the way to what it declares: every document of it, every item of its lists. For a text of one
 * single Pod it gives what `loadPod` gives; everything else is beyond what the kubelet reads.
 */
export function loadManifests(bytes: Uint8Array | string, options: LoadManifestsOptions): Manifests {
  const manifests: Manifests = { pods: [], configObjects: [], problems: [] };
  const { problems } = manifests;
  const ignored: Declarations['ignored'] = [];
  let isStatement = false;
  for (const reading of readManifests(bytes, options.origin)) {
    if ('problem' in reading) {
      problems.push(reading.problem);
      continue;
    }
    const found = declaredObjects(reading.document);
    ignored.push(...found.ignored);
    isStatement ||= found.objects.length > 0 || found.hasEmptyList;
    problems.push(...found.problems, ...(found.objects.length > 0 ? notesOf(reading.document) : []));
    for (const { object } of found.objects) loadObject(manifests, object, options);
  }
  for (const { kind, object, reason } of ignored) {
    const message = `A ${kind} is not carried out here: ${reason}`;
    problems.push(problemOf(object, { field: 'kind', message, severity: isStatement ? 'warning' : 'error' }));
  }
  if (!isStatement && problems.length === 0) problems.push(nothingIn(options.origin));
  return manifests;
}

function loadObject(manifests: Manifests, object: ManifestObject, options: LoadManifestsOptions): void {
  const { pod: raw, problems } = decodePod(object);
  manifests.problems.push(...problems);
  if (!raw) return;
  const { pod, problems: more } = toValidPod(raw, options, (problem) => problemOf(object, problem));
  manifests.problems.push(...more);
  if (pod) manifests.pods.push(pod);
}

function nothingIn(origin: string): ManifestProblem {
  return {
    origin,
    message: 'The text declares nothing',
    hint: 'Write "apiVersion: v1", "kind: List" and "items: []" when nothing is to run.',
    severity: 'error',
  };
}

import { randomUUID } from 'node:crypto';
import { alwaysRestarts } from '../../api/values/restart-rules.ts';
import { withoutNotes } from '../../api/text/manifest-problem.ts';
import type { Pod } from '../../api/types.ts';
import { configAnnotations, isMirrorPod } from '../../api/values/config-annotations.ts';
import { declaredPods } from '../../api/values/declared-pods.ts';
import { problemText } from '../../api/values/problem-text.ts';
import { systemClock } from '../../clock.ts';
import { podUIDHash } from '../../engine/config/load-manifest.ts';
import type { PodSource, SourceUpdate } from '../../engine/config/pod-source.ts';
import { UserError } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { NodeOptions } from '../options/node-options.ts';
import { isKustomization } from '../sources/build-kustomization.ts';
import { remoteManifest } from '../sources/node-sources.ts';
import { readManifestURL } from '../sources/read-manifest-url.ts';
import {
  brokenManifestExitCode,
  joined,
  readManifests,
  readStdin,
  refuseBroken,
  asError,
} from '../sources/read-manifests.ts';
import { withNodeClasses } from '../sources/with-node-classes.ts';
import { overridePods, type PodOverrides } from './pod-overrides.ts';

export interface DeclaredRequest {
  options: NodeOptions;
  /** Files, folders, or `-` for stdin. A folder with a kustomization is built. */
  manifests: readonly string[];
  stdin: AsyncIterable<Uint8Array>;
  overrides: PodOverrides;
  /** True to treat a warning about a manifest as an error. */
  isStrict: boolean;
  logger: Logger;
}

/** Reads the declarations of manifests and URLs. Throws a `UserError` for any error in them. */
export async function readDeclarations(request: DeclaredRequest): Promise<SourceUpdate[]> {
  const { manifests, options, stdin, logger } = request;
  const isBuilt = await Promise.all(manifests.map(async (path) => path !== '-' && (await isKustomization(path))));
  const files = await readManifests({
    manifests: manifests.filter((_, index) => isBuilt[index] !== true),
    kustomizations: manifests.filter((_, index) => isBuilt[index] === true),
    nodeName: options.nodeName,
    featureGates: options.featureGates,
    rootDir: options.rootDir,
    cronJobs: 'runOnce',
    stdin: manifests.includes('-') ? await readStdin(stdin) : undefined,
  });
  const updates = [
    files,
    ...(await Promise.all(
      options.manifestURLs.map((url) => readManifestURL({ ...remoteManifest(options, url), cronJobs: 'runOnce' })),
    )),
  ];
  const { problems } = withNodeClasses(joined(updates), options.runtimeClasses);
  refuseBroken(request.isStrict ? problems.map(asError) : problems, 'nothing was started');
  const pods = updates.flatMap(withDeadlines);
  refuseNothing(pods);
  refuseMirrors(pods);
  for (const problem of withoutNotes(problems)) logger.warn(problemText(problem, systemClock.now()));
  const overridden = overridePods(pods, request.overrides);
  const byUID = new Map(overridden.map((pod) => [pod.metadata.uid, pod]));
  return updates.map((update) => asRun(update, (pod) => byUID.get(pod.metadata.uid) ?? pod));
}

/** Applies the deadline of a Job to its pods, unless they have an earlier one, because no decision stops them here. */
function withDeadlines({ pods, workloads = [] }: SourceUpdate): Pod[] {
  const deadlines = new Map(
    workloads.flatMap((one) => {
      const seconds = one.kind === 'Job' ? one.rules.activeDeadlineSeconds : undefined;
      if (seconds === undefined) return [];
      return declaredPods(one, podUIDHash).map(({ metadata }): [string, number] => [metadata.uid, seconds]);
    }),
  );
  return pods.map((pod) => {
    const seconds = Math.min(deadlines.get(pod.metadata.uid) ?? Infinity, pod.spec.activeDeadlineSeconds ?? Infinity);
    return Number.isFinite(seconds) ? { ...pod, spec: { ...pod.spec, activeDeadlineSeconds: seconds } } : pod;
  });
}

/**
 * A pod that completes gets a new UID in each run. With the UID of its manifest, a second run would report the result
 * of the first. A pod that serves keeps its UID, so that a second run finds it.
 */
function asRun({ source, where, pods, configObjects = [] }: SourceUpdate, changed: (pod: Pod) => Pod): SourceUpdate {
  const ofThisRun = (pod: Pod): Pod =>
    alwaysRestarts(pod.spec) ? pod : { ...pod, metadata: { ...pod.metadata, uid: randomUUID() } };
  return { source, where, pods: pods.map(changed).map(ofThisRun), configObjects, problems: [] };
}

/** A source with a fixed update. */
export function fixedSource(update: SourceUpdate): PodSource {
  return {
    source: update.source,
    where: update.where,
    run: ({ onUpdate }, signal) =>
      new Promise((resolve) => {
        onUpdate(update);
        if (signal.aborted) resolve();
        signal.addEventListener('abort', () => {
          resolve();
        });
      }),
  };
}

function refuseNothing(pods: readonly Pod[]): void {
  if (pods.length > 0) return;
  throw new UserError('no manifest declares a pod', {
    hint: 'Name manifest files or folders, - for stdin, or --manifest-url URL.',
    exitCode: brokenManifestExitCode,
  });
}

/** Throws a `UserError` for mirror pods, which never run and so would never complete. */
function refuseMirrors(pods: readonly Pod[]): void {
  const mirror = pods.find(isMirrorPod);
  if (mirror === undefined) return;
  throw new UserError(
    `pod ${mirror.metadata.namespace}/${mirror.metadata.name} is marked as the mirror of a static pod`,
    { hint: `Remove its annotation ${configAnnotations.mirror}.`, exitCode: brokenManifestExitCode },
  );
}

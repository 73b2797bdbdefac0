import { join } from 'node:path';
import type { Writable } from 'node:stream';
import type { Pod } from '../../api/types.ts';
import { systemClock } from '../../clock.ts';
import { configAnnotations, isMirrorPod } from '../../api/values/config-annotations.ts';
import type { PodSource, SourceUpdate } from '../../engine/config/pod-source.ts';
import type { KubeletEvent } from '../../engine/view/events.ts';
import { Faults } from '../../flow/faults.ts';
import type { Kubelet, UnremovedPod } from '../../engine/kubelet.ts';
import { readLogTail } from '../../engine/logs/read-log-tail.ts';
import { containerLogsDirectory } from '../../engine/container/log-paths.ts';
import { reasons } from '../../engine/view/reasons.ts';
import type { PodSnapshot } from '../../engine/view/snapshot.ts';
import { UserError } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { NodeOptions } from '../options/node-options.ts';
import { remoteManifest } from '../sources/node-sources.ts';
import { problemText } from '../../api/values/problem-text.ts';
import { readManifestURL } from '../sources/read-manifest-url.ts';
import { brokenManifestExitCode, joined, readManifests, readStdin, refuseBroken } from '../sources/read-manifests.ts';
import { withNodeClasses } from '../sources/with-node-classes.ts';
import { RunOnceLogs } from './run-once-logs.ts';
import { exitCodes, notStarted, type PodOutcome, podOutcome, stuckPods, unfinishedState } from './run-once-outcome.ts';
import { withAgent } from '../with-agent.ts';

/**
 * Milliseconds for which a pod must stay Ready to count as Ready, because a container that ends at once is of no use.
 */
const readySettleMs = 1000;
const logTailOfFailure = { maxLines: 20, maxBytes: 16 * 1024 };

export interface RunOnceRequest {
  options: NodeOptions;
  /** Files, folders, or `-` for stdin. */
  manifests: readonly string[];
  timeoutMs: number;
  /** Stops and removes the pods at the end. */
  remove: boolean;
  stdin: AsyncIterable<Uint8Array>;
  /** Receive the output of containers live. */
  stdout: Writable;
  stderr: Writable;
  logger: Logger;
  onKubelet: (kubelet: Kubelet) => void;
}

export interface PodResult extends PodOutcome {
  /** `namespace/name` */
  pod: string;
  /** The last log lines of the container that failed or still runs. */
  log?: string;
}

export interface RunOnceResult {
  results: PodResult[];
  /** Pods whose removal failed. */
  unremoved: UnremovedPod[];
  /** Exit code of the first failed pod; 1 if only a removal failed. */
  exitCode: number;
  /** True if each line starts with its container. */
  isLogPrefixed: boolean;
}

/** Runs the pods of the manifests until each has an outcome. */
export async function runOnce(request: RunOnceRequest): Promise<RunOnceResult> {
  const { options, logger, onKubelet, timeoutMs } = request;
  const updates = await declared(request);
  const pods = updates.flatMap((update) => update.pods);
  const stopping = new AbortController();
  const interrupted = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => {
    interrupted.abort(new Error(signal));
  };
  // A second signal ends the process.
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  const agent = {
    options: { ...options, leaveOrphans: true },
    sources: () => updates.map(fixedSource),
    logger,
    faults: new Faults({ clock: systemClock, logger }),
    stopping,
  };
  const { stdout, stderr } = request;
  const logs = new RunOnceLogs({ pods, podLogsDir: options.podLogsDir, stdout, stderr, clock: systemClock });
  return withAgent(agent, async (kubelet) => {
    onKubelet(kubelet);
    logs.follow(kubelet);
    const running = kubelet.run(stopping.signal);
    const outcomes = await Promise.race([untilDecided(kubelet, pods, timeoutMs, interrupted.signal), failure(running)]);
    const known = new Map(kubelet.snapshot().pods.map((snapshot) => [snapshot.pod.metadata.uid, snapshot]));
    // Waits for the logs, because a removal deletes them.
    await logs.written([...known.values()].map(({ pod }) => pod));
    const results = await Promise.all(
      pods.map((pod) => {
        const { uid } = pod.metadata;
        return toResult(pod, outcomes.get(uid) ?? undecided(request, known.get(uid), interrupted.signal), options);
      }),
    );
    const unremoved = request.remove ? await kubelet.removeAllPods() : [];
    await logs.end();
    stopping.abort();
    await running;
    const failed = results.find(({ exitCode }) => exitCode !== 0);
    const exitCode = failed?.exitCode ?? (unremoved.length === 0 ? 0 : 1);
    return { results, unremoved, exitCode, isLogPrefixed: logs.hasPrefixes };
  });
}

/** Reads the declarations of manifests and URLs. Throws a `UserError` for any error in them. */
async function declared({ manifests, options, stdin, logger }: RunOnceRequest): Promise<SourceUpdate[]> {
  const files = await readManifests({
    manifests,
    nodeName: options.nodeName,
    featureGates: options.featureGates,
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
  refuseBroken(problems, 'nothing was started');
  const pods = updates.flatMap((update) => update.pods);
  refuseNothing(pods);
  refuseMirrors(pods);
  for (const problem of problems) logger.warn(problemText(problem, systemClock.now()));
  return updates;
}

function refuseNothing(pods: readonly Pod[]): void {
  if (pods.length > 0) return;
  throw new UserError('no manifest declares a pod', {
    hint: 'Give manifest files or folders, - for stdin, or --manifest-url URL.',
    exitCode: brokenManifestExitCode,
  });
}

/** Throws a `UserError` for mirror pods, which never run and so would never end. */
function refuseMirrors(pods: readonly Pod[]): void {
  const mirror = pods.find(isMirrorPod);
  if (mirror === undefined) return;
  throw new UserError(
    `pod ${mirror.metadata.namespace}/${mirror.metadata.name} is marked as the mirror of a static pod`,
    { hint: `Remove its annotation ${configAnnotations.mirror}.`, exitCode: brokenManifestExitCode },
  );
}

/** A source with a fixed update. Its problems are already reported. */
function fixedSource(update: SourceUpdate): PodSource {
  return {
    source: update.source,
    where: update.where,
    run: ({ onUpdate }, signal) =>
      new Promise((resolve) => {
        onUpdate({ ...update, problems: [] });
        if (signal.aborted) resolve();
        signal.addEventListener('abort', () => {
          resolve();
        });
      }),
  };
}

/** Counts the failed pulls of containers since the last success, by pod UID and container name. */
function countPulls(event: KubeletEvent, failures: Map<string, number>): void {
  if (event.type !== 'Recorded' || event.pod === undefined) return;
  const key = `${event.pod.uid}/${event.containerName ?? ''}`;
  if (event.reason === reasons.pulled) failures.delete(key);
  // The reason `Failed` has several causes; only the message distinguishes them.
  if (event.reason === reasons.failed && event.message.startsWith('Failed to pull image')) {
    failures.set(key, (failures.get(key) ?? 0) + 1);
  }
}

/** Resolves to the outcomes of the pods by UID: of all, or of those decided in time. */
function untilDecided(
  kubelet: Kubelet,
  pods: readonly Pod[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Map<string, PodOutcome>> {
  const outcomes = new Map<string, PodOutcome>();
  const settling = new Map<string, () => void>();
  let resolve = (_outcomes: Map<string, PodOutcome>): void => undefined;
  const decided = new Promise<Map<string, PodOutcome>>((done) => {
    resolve = done;
  });
  const decide = (uid: string, outcome: PodOutcome): void => {
    outcomes.set(uid, outcome);
    if (outcomes.size === pods.length) resolve(outcomes);
  };
  const decideStuck = (): void => {
    const undecided = pods.filter(({ metadata }) => !outcomes.has(metadata.uid));
    for (const { metadata, status } of stuckPods(
      undecided,
      kubelet.snapshot().pods.map(({ pod }) => pod),
    )) {
      decide(metadata.uid, notStarted(status?.message ?? ''));
    }
  };
  const look = (uid: string): void => {
    const known = kubelet.snapshot().pods.find(({ pod }) => pod.metadata.uid === uid);
    // A pod that waits for the end of another one may still run.
    const waits = known?.rejection?.retriedWhen.startsWith('a pod ends') === true;
    const failuresOf = (container: string): number => pullFailures.get(`${uid}/${container}`) ?? 0;
    const outcome = known === undefined || waits ? undefined : podOutcome(known.pod, failuresOf);
    if (outcome?.outcome !== 'ready') {
      settling.get(uid)?.();
      settling.delete(uid);
    }
    if (outcome === undefined || outcomes.has(uid)) return;
    if (outcome.outcome !== 'ready') decide(uid, outcome);
    else if (!settling.has(uid))
      settling.set(
        uid,
        systemClock.after(readySettleMs, () => {
          decide(uid, outcome);
          decideStuck();
        }),
      );
  };
  const pullFailures = new Map<string, number>();
  const unsubscribe = kubelet.subscribe((event) => {
    countPulls(event, pullFailures);
    if (event.type !== 'PodStatusChanged') return;
    look(event.pod.uid);
    decideStuck();
  });
  const giveUp = (): void => {
    resolve(outcomes);
  };
  const cancelTimeout = systemClock.after(timeoutMs, giveUp);
  signal.addEventListener('abort', giveUp, { once: true });
  return decided.finally(() => {
    unsubscribe();
    cancelTimeout();
    for (const cancel of settling.values()) cancel();
  });
}

/** The outcome of a pod that is not decided in time. */
function undecided(
  { timeoutMs }: RunOnceRequest,
  known: PodSnapshot | undefined,
  interrupted: AbortSignal,
): PodOutcome {
  if (interrupted.aborted) return { outcome: 'interrupted', exitCode: exitCodes.interrupted, message: '' };
  const warning = known?.events.findLast((event) => event.type === 'Recorded' && event.eventType === 'Warning');
  const { message: left, ...container } =
    known === undefined
      ? { message: '' }
      : unfinishedState(known.pod, warning?.type === 'Recorded' ? warning.message : '');
  const message = [`not done after ${timeoutMs / 1000}s`, left].filter((part) => part !== '').join(': ');
  return { outcome: 'timed out', exitCode: exitCodes.timedOut, message, ...container };
}

async function toResult({ metadata }: Pod, outcome: PodOutcome, { podLogsDir }: NodeOptions): Promise<PodResult> {
  const pod = `${metadata.namespace}/${metadata.name}`;
  const isOver = outcome.outcome === 'failed' || outcome.outcome === 'timed out';
  if (!isOver || outcome.container === undefined) return { pod, ...outcome };
  const logPath = join(containerLogsDirectory(podLogsDir, metadata, outcome.container), '0.log');
  const log = Buffer.from(await readLogTail(logPath, logTailOfFailure)).toString('utf8');
  return { pod, ...outcome, ...(log === '' ? {} : { log }) };
}

async function failure(running: Promise<void>): Promise<never> {
  await running;
  throw new UserError('the engine ended before the pods were done');
}

import type { Writable } from 'node:stream';
import type { Pod } from '../../api/types.ts';
import { systemClock } from '../../clock.ts';
import type { SourceUpdate } from '../../engine/config/pod-source.ts';
import type { Kubelet } from '../../engine/kubelet.ts';
import {
  containerGracePeriodSeconds,
  MINIMUM_GRACE_PERIOD_SECONDS,
} from '../../engine/kuberuntime/actions/termination-grace-period.ts';
import { computeStopOrder } from '../../engine/lifecycle/stop-order.ts';
import type { UnremovedPod } from '../../engine/remove-all-pods.ts';
import type { PodSnapshot } from '../../engine/view/snapshot.ts';
import { UserError } from '../../errors.ts';
import { Faults } from '../../flow/faults.ts';
import { unlessAborted } from '../../flow/unless-aborted.ts';
import type { NodeOptions } from '../options/node-options.ts';
import { withAgent } from '../with-agent.ts';
import { type DeclaredRequest, readDeclarations, fixedSource } from './read-declarations.ts';
import { type Cut, podResult, type PodResult, runExitCode, undecidedOutcome } from './pod-result.ts';
import type { PodOverrides } from './pod-overrides.ts';
import { RunOnceLogs } from './run-once-logs.ts';
import { exitCodes, type Until } from './run-once-outcome.ts';
import { RunView } from './run-view.ts';
import { type RunEnd, decideOutcomes } from './decide-outcomes.ts';

export interface RunOnceRequest extends Omit<DeclaredRequest, 'overrides'> {
  options: NodeOptions;
  /** Reads the values that replace those of manifests. The signal stops the start, and so this wait. */
  overrides: (signal: AbortSignal) => Promise<PodOverrides>;
  until: Until;
  /** Finds the pod or container that decides the run. Undefined if all pods decide. */
  decider: ((pods: readonly Pod[]) => RunEnd['decider']) | undefined;
  timeoutMs: number;
  /** Stops the run early. Its reason is the error of a run without results. */
  interrupted: AbortSignal;
  /** True to stop and remove the pods after the run. */
  remove: boolean;
  /** True to include the last log lines of all containers in the results. */
  allLogs: boolean;
  /** Receive the output of containers live. */
  stdout: Writable;
  stderr: Writable;
  /** True for prefixes of lines in colours. */
  isColoured: boolean;
  /** Changes each line of output. Undefined to leave output unchanged. */
  guard: ((line: Buffer) => Buffer) | undefined;
  onKubelet: (kubelet: Kubelet) => void;
  /** Called before pods that still run are removed, which takes at most `seconds` if they stop in time. */
  onStop: (stopping: { pods: readonly Pod[]; seconds: number }) => void;
}

export interface RunOnceResult {
  results: PodResult[];
  /** Pods whose removal failed. */
  unremoved: UnremovedPod[];
  exitCode: number;
  /** True if each line starts with its container. */
  isLogPrefixed: boolean;
}

/**
 * Runs the pods of the manifests until each has an outcome, or until the deciding one has. The time-out and an
 * interrupt also stop the start, with a `UserError`.
 */
export async function runOnce(request: RunOnceRequest): Promise<RunOnceResult> {
  const { options, logger, onKubelet, timeoutMs, interrupted, until } = request;
  const untilMonotonic = systemClock.monotonic() + timeoutMs;
  const timedOut = new AbortController();
  const start = AbortSignal.any([interrupted, timedOut.signal]);
  const stopping = new AbortController();
  const cancelTimeout = systemClock.after(timeoutMs, () => {
    const message = `the pods did not run after ${timeoutMs / 1000}s`;
    timedOut.abort(
      new UserError(message, { exitCode: exitCodes.timedOut, hint: 'Allow more time with --timeout DURATION.' }),
    );
  });
  const endStart = (): void => {
    stopping.abort(start.reason);
  };
  start.addEventListener('abort', endStart);
  const declare = async (): Promise<SourceUpdate[]> =>
    readDeclarations({ ...request, overrides: await request.overrides(start) });
  const updates = await unlessAborted(declare(), start);
  const pods = updates.flatMap((update) => update.pods);
  const decider = request.decider?.(pods);
  const agent = {
    options: { ...options, leaveOrphans: true },
    sources: () => updates.map(fixedSource),
    logger,
    faults: new Faults({ clock: systemClock, logger }),
    stopping,
  };
  const logs = new RunOnceLogs({ ...request, pods, podLogsDir: options.podLogsDir, clock: systemClock });
  const run = withAgent(agent, async (kubelet) => {
    start.throwIfAborted();
    start.removeEventListener('abort', endStart);
    onKubelet(kubelet);
    logs.follow(kubelet);
    const view = new RunView(kubelet);
    const running = kubelet.run(stopping.signal);
    const leftMs = Math.max(0, untilMonotonic - systemClock.monotonic());
    const end: RunEnd = { until, decider, timeoutMs: leftMs, signal: interrupted, clock: systemClock };
    const outcomes = await Promise.race([decideOutcomes(view, pods, end), failure(running)]);
    const isDecided = decider !== undefined && outcomes.has(decider.podUID);
    const cut: Cut = { by: interrupted.aborted ? 'interrupt' : isDecided ? 'decider' : 'timeout', timeoutMs };
    const known = new Map(view.snapshot().pods.map((snapshot) => [snapshot.pod.metadata.uid, snapshot]));
    logs.followAll();
    await logs.shown(
      [...known.values()].map(({ pod }) => pod),
      { interrupted, timedOut: timedOut.signal },
    );
    const results = await Promise.all(
      pods.map((declared) => {
        const snapshot = known.get(declared.metadata.uid);
        const outcome = outcomes.get(declared.metadata.uid) ?? undecidedOutcome(cut, snapshot);
        return podResult(snapshot?.pod ?? declared, outcome, { ...request, podLogsDir: options.podLogsDir });
      }),
    );
    if (request.remove) announceStop(kubelet.snapshot().pods, request.onStop);
    const unremoved = request.remove ? await kubelet.removeAllPods() : [];
    const isCut = results.some(({ outcome }) => outcome === 'timed out');
    const isShown = await logs.end(isCut ? timedOut.signal : interrupted);
    stopping.abort();
    await running;
    const deciding = pods.findIndex(({ metadata }) => metadata.uid === decider?.podUID);
    const isRemoved = unremoved.length === 0;
    const exitCode = runExitCode(results, { deciding: results[deciding], isRemoved, isShown });
    return { results, unremoved, exitCode, isLogPrefixed: logs.hasPrefixes };
  });
  return run.finally(cancelTimeout).catch((error: unknown) => {
    // Whatever stopped the start is the reason for its failure.
    if (stopping.signal.reason === start.reason) start.throwIfAborted();
    throw error;
  });
}

function announceStop(known: readonly PodSnapshot[], onStop: RunOnceRequest['onStop']): void {
  const pods = known.filter(({ pod }) => runs(pod)).map(({ pod }) => pod);
  if (pods.length === 0) return;
  // Each step starts when the previous one has finished.
  const steps = computeStopOrder(pods).map((step) => Math.max(...step.map(gracePeriodSeconds)));
  onStop({ pods, seconds: steps.reduce((sum, step) => sum + step, 0) });
}

const runs = ({ status }: Pod): boolean =>
  status?.containerStatuses?.some(({ state }) => state?.running !== undefined) ?? false;

const gracePeriodSeconds = (pod: Pod): number =>
  Math.max(containerGracePeriodSeconds(pod, undefined, ''), MINIMUM_GRACE_PERIOD_SECONDS);

async function failure(running: Promise<void>): Promise<never> {
  await running;
  throw new UserError('the engine stopped before the pods were done');
}

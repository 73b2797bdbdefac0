import { describe, expect, test } from 'vitest';
import type { Pod } from '../../../../src/api/types.ts';
import { BackOff } from '../../../../src/flow/back-off.ts';
import {
  crashLoopBackOffLimits,
  crashLoopWait,
  finishedRun,
} from '../../../../src/engine/kuberuntime/actions/crash-loop-back-off.ts';
import type { RuntimePodStatus } from '../../../../src/engine/container/runtime-pod-status.ts';
import {
  makeContainer,
  makeContainerStatus,
  makePod,
  makePodStatus,
  makeSandbox,
  NOW,
} from '../../../builders/pods.ts';

const container = makeContainer();
/** The clocks show the same. */
const steady = { monotonicAt: (stamp: number): number => stamp };

/** A container that was restarted so often, ran for `ranMs` and ended now, in a sandbox that is ready. */
function ended(restartCount: number, { ranMs = 1000, sandbox = makeSandbox({ createdAt: 0 }) } = {}): RuntimePodStatus {
  const status = makeContainerStatus(container, {
    state: 'exited',
    restartCount,
    createdAt: NOW - ranMs,
    startedAt: NOW - ranMs,
    finishedAt: NOW,
  });
  return makePodStatus(makePod(), { containerStatuses: [status], sandboxStatuses: [sandbox] });
}

/** The wait of the container; a start that need not wait is counted. */
function waitOrCount(backOff: BackOff, pod: Pod, status: RuntimePodStatus): number | undefined {
  const run = finishedRun(steady, pod, container, status);
  if (run === undefined) return undefined;
  backOff.resume(run.key, run.earlier.restarts, run.earlier.atMonotonic, run.maxMs);
  const waiting = crashLoopWait(backOff, run, pod, container);
  if (waiting === undefined) backOff.next(run.key, run.endedAtMonotonic, run.maxMs);
  return waiting?.untilMonotonic;
}

/** Milliseconds that are to be waited, in an engine that has just been started; 0: none. */
function firstWait(status: RuntimePodStatus, pod = makePod(), nodeMaxMs = 300_000): number {
  const backOff = new BackOff(
    { monotonic: () => NOW },
    crashLoopBackOffLimits({ maxContainerRestartPeriodMs: nodeMaxMs }),
  );
  return (waitOrCount(backOff, pod, status) ?? NOW) - NOW;
}

const limited = (period: string): Pod => {
  const pod = makePod();
  return { ...pod, metadata: { ...pod.metadata, annotations: { 'kubelet-ts.io/max-restart-period': period } } };
};

describe('after a restart of the engine, a container that ended', () => {
  test.each([
    ['for the first time starts at once', ended(0), 0],
    ['for the second time waits as it would have', ended(1), 10_000],
    ['for the fourth time waits as it would have', ended(3), 40_000],
    ['ever so often waits no longer than any other', ended(2000), 300_000],
    ['after ten good minutes starts at once', ended(9, { ranMs: 600_001 }), 0],
    ['with its sandbox starts at once', ended(9, { sandbox: makeSandbox({ createdAt: 0, state: 'notready' }) }), 0],
    ['in an earlier sandbox starts at once', ended(9, { sandbox: makeSandbox({ createdAt: NOW }) }), 0],
  ])('%s', (_what, status, expected) => {
    expect(firstWait(status)).toBe(expected);
  });
});

test.each([
  ['whose end the runtime does not know', { state: 'exited', finishedAt: 0 }],
  ['that ended before it was made', { state: 'exited', finishedAt: NOW - 2000 }],
  ['of which the runtime does not know whether it runs', { state: 'unknown', finishedAt: 0 }],
] as const)('a container %s waits from its beginning on', (_what, known) => {
  const status = ended(1);
  const containerStatuses = status.containerStatuses.map((container) => ({ ...container, ...known }));
  expect(firstWait({ ...status, containerStatuses })).toBe(9000);
});

describe('the longest wait', () => {
  test('of a pod is what its annotation says, if that of the node is not shorter', () => {
    expect(firstWait(ended(9), limited('30s'))).toBe(30_000);
    expect(firstWait(ended(9), limited('30s'), 5000)).toBe(5000);
    expect(firstWait(ended(1), limited('2s'))).toBe(2000);
  });

  test('holds from one restart to the next', () => {
    let now = NOW;
    const backOff = new BackOff(
      { monotonic: () => now },
      crashLoopBackOffLimits({ maxContainerRestartPeriodMs: 300_000 }),
    );
    const waits: number[] = [];
    for (let restarts = 0; restarts < 4; restarts++) {
      const finishedAt = now;
      const [status] = ended(restarts).containerStatuses;
      const statuses =
        status === undefined ? [] : [{ ...status, finishedAt, startedAt: finishedAt, createdAt: finishedAt }];
      const podStatus = makePodStatus(makePod(), {
        containerStatuses: statuses,
        sandboxStatuses: [makeSandbox({ createdAt: 0 })],
      });
      const until = waitOrCount(backOff, limited('15s'), podStatus);
      now = until ?? now;
      waits.push(now - finishedAt);
      if (until !== undefined) waitOrCount(backOff, limited('15s'), podStatus);
    }
    expect(waits).toEqual([0, 10_000, 15_000, 15_000]);
  });
});

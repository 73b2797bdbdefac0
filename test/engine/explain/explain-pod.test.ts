import { expect, test } from 'vitest';
import { explainPod } from '../../../src/engine/explain/explain-pod.ts';
import { makeAPIContainerStatus, makePod, NOW } from '../../builders/pods.ts';

const finishedAt = new Date(NOW).toISOString();

test.each([
  ['with the end of the back-off of a crash', { exitCode: 1, reason: 'Error', finishedAt }, 'back-off', 300_000],
  [
    'with the end of the back-off of a failed start',
    { exitCode: 128, reason: 'StartError', message: 'exec: "x": executable file not found in $PATH', finishedAt },
    'start',
    300_000,
  ],
  [
    'with the sync after it, if that is later',
    { exitCode: 1, reason: 'Error', finishedAt: '2020-01-01T00:00:00Z' },
    'back-off',
    10_000,
  ],
])('the next try is %s, not with the next sync', (_what, terminated, stage, afterMs) => {
  const message = 'back-off 5m0s restarting failed container=main pod=web_default(1)';
  const status = makeAPIContainerStatus({
    restartCount: 9,
    state: { waiting: { reason: 'CrashLoopBackOff', message } },
    lastState: { terminated },
  });
  const pod = makePod({ status: { phase: 'Running', containerStatuses: [status] } });
  const worker = { state: 'sync', working: false, pending: false, nextSyncAt: NOW + 10_000 } as const;
  const node = {
    runtime: { endpoint: 'unix:///x', chosenBecause: '', name: 'fake', version: '1' },
    pressures: [],
    sources: [],
    pods: [],
  };
  expect(explainPod({ pod, worker, node })).toMatchObject({ stage, nextTryAt: NOW + afterMs });
});

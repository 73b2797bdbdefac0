import { expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { RpcError } from '../../../src/errors.ts';
import type { RuntimePodStatus } from '../../../src/engine/container/runtime-pod-status.ts';
import { PodWorkers } from '../../../src/engine/pod-workers/pod-workers.ts';
import { SyncPodError } from '../../../src/engine/pod-workers/sync-pod-error.ts';
import { codes } from '../../fakes/fake-calls.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';

const status: RuntimePodStatus = {
  uid: '',
  name: '',
  namespace: '',
  ips: [],
  containerStatuses: [],
  sandboxStatuses: [],
};

test.each([
  ['was away', codes.unavailable, 1000],
  ['refused', codes.unknown, 10_000],
])('a pod whose runtime %s when it was synced is tried again after a while of its own', async (_, code, delay) => {
  const cause = new RpcError('RunPodSandbox', code, 'Connection dropped');
  const delayMs = await new Promise<number>((resolve) => {
    const workers = new PodWorkers({
      faults: silentFaults(),
      syncer: {
        syncPod: () => Promise.reject(new SyncPodError('createPodSandbox web', { cause })),
        syncTerminatingPod: () => Promise.resolve(),
        syncTerminatingRuntimePod: () => Promise.resolve(),
        syncTerminatedPod: () => Promise.resolve(),
      },
      syncFrequencyMs: 60_000,
      getNewerThan: () => Promise.resolve(status),
      getCached: () => status,
      enqueue: (_uid, ms) => {
        resolve(ms);
      },
      onNameFreed: () => undefined,
      clock: systemClock,
      random: () => 0,
      logger: silentLogger,
      emit: () => undefined,
    });
    workers.updatePod({ type: 'create', pod: makeStaticPod('web') });
  });
  expect(delayMs).toBe(delay);
});

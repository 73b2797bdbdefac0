import { expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import type { RuntimePodStatus } from '../../../src/engine/container/runtime-pod-status.ts';
import { PodWorkers } from '../../../src/engine/pod-workers/pod-workers.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';

test.each([
  [0, 5000],
  [0.5, 6250],
])(
  'a pod that was synced is due again after the sync frequency and up to half of it more: %d',
  async (chance, delay) => {
    const status: RuntimePodStatus = {
      uid: '',
      name: '',
      namespace: '',
      ips: [],
      containerStatuses: [],
      sandboxStatuses: [],
    };
    const delayMs = await new Promise<number>((resolve) => {
      const workers = new PodWorkers({
        faults: silentFaults(),
        syncer: {
          syncPod: () => Promise.resolve(false),
          syncTerminatingPod: () => Promise.resolve(),
          syncTerminatingRuntimePod: () => Promise.resolve(),
          syncTerminatedPod: () => Promise.resolve(),
        },
        syncFrequencyMs: 5000,
        getNewerThan: () => Promise.resolve(status),
        getCached: () => status,
        enqueue: (_uid, ms) => {
          resolve(ms);
        },
        onNameFreed: () => undefined,
        clock: systemClock,
        random: () => chance,
        logger: silentLogger,
        emit: () => undefined,
      });
      workers.updatePod({ type: 'create', pod: makeStaticPod('web') });
    });
    expect(delayMs).toBe(delay);
  },
);

import type { RuntimePodStatus } from '../../../src/engine/container/runtime-pod-status.ts';
import { PodWorkers } from '../../../src/engine/pod-workers/pod-workers.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';

const status: RuntimePodStatus = {
  uid: '',
  name: '',
  namespace: '',
  ips: [],
  containerStatuses: [],
  sandboxStatuses: [],
};

interface FirstSync {
  syncPod: () => Promise<boolean>;
  syncFrequencyMs: number;
  /** The result of `random`. */
  chance: number;
}

/** Milliseconds from the first sync of a new pod until its worker syncs it again. */
export function delayAfterSync({ syncPod, syncFrequencyMs, chance }: FirstSync): Promise<number> {
  return new Promise((resolve) => {
    const workers = new PodWorkers({
      faults: silentFaults(),
      syncer: {
        syncPod,
        syncTerminatingPod: () => Promise.resolve(),
        syncTerminatingRuntimePod: () => Promise.resolve(),
        syncTerminatedPod: () => Promise.resolve(),
      },
      syncFrequencyMs,
      getNewerThan: () => Promise.resolve(status),
      getCached: () => status,
      enqueue: (_uid, ms) => {
        resolve(ms);
      },
      onNameFreed: () => undefined,
      clock: new FakeClock(),
      random: () => chance,
      logger: silentLogger,
      emit: () => undefined,
    });
    workers.updatePod({ type: 'create', pod: makeStaticPod('web') });
  });
}

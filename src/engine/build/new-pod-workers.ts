import type { Pod } from '../../api/types.ts';
import { PodGarbage } from '../gc/pod-garbage.ts';
import type { KubeletBase } from './kubelet-deps.ts';
import { prepull } from '../kuberuntime/prepull.ts';
import type { PodRemover } from '../kuberuntime/pod-remover.ts';
import type { NodeResources } from './new-node-resources.ts';
import type { PodSyncing } from './new-pod-syncer.ts';
import type { PodState } from './new-pod-state.ts';
import type { RuntimeWatch } from './new-runtime-watch.ts';
import type { Sources } from './new-sources.ts';
import type { Volumes } from './new-volumes.ts';
import { PodRefresher } from '../pleg/pod-refresher.ts';
import { InPlaceUpdates } from '../pod-start/in-place-updates.ts';
import { RevisionPrepuller } from '../pod-start/revision-prepuller.ts';
import { PodWorkers } from '../pod-workers/pod-workers.ts';
import { activeDeadlineLeftMs } from '../status/active-deadline.ts';

export type Workers = ReturnType<typeof newPodWorkers>;

type Earlier = PodState & Sources & RuntimeWatch & Volumes & NodeResources & PodSyncing & { podRemover: PodRemover };

interface Engine {
  /** Pods that have not started yet, and for which others were stopped. */
  reservedPods: () => Pod[];
}

/** Creates the pod workers, and the components that decide what a worker does next: changes, updates, garbage. */
export function newPodWorkers(base: KubeletBase, earlier: Earlier, { reservedPods }: Engine) {
  const { clock, emit, events, faults, foreignPods, inputs, logger, meter, node, random, stopped, wallClock } = base;
  const { appliedRevisions, cache, ephemeral, evictionRecords, histories, pleg, podDirs, podManager, runtimePods } =
    earlier;
  const { statusRecords, syncer, volumeManager, workQueue } = earlier;
  const syncSoon = (podUID: string): void => {
    inputs.push({ type: 'sync', podUID });
  };
  const garbage: PodGarbage = new PodGarbage({
    runtimePods,
    foreignPods,
    listedPods: () => pleg.pods(),
    podRemover: earlier.podRemover,
    policy: node.containerGC,
    podCgroups: earlier.containerManager.podCgroups,
    podDirs,
    undeclaredRecords: earlier.undeclaredRecords,
    ownAmong: (uids) => histories.ownAmong(uids),
    unmountVolumes: (uid) => volumeManager.unmountPodVolumes(uid),
    clock,
    logger: logger.child({ component: 'gc' }),
    faults,
    meter,
    isKnown: (uid) => podManager.get(uid) !== undefined || workers.has(uid),
    isEnding: (uid) => workers.isPodTerminationRequested(uid),
    killOrphan: (runningPod) => {
      workers.updatePod({ type: 'kill', runningPod });
    },
    onOrphans: () => {
      earlier.housekeeping.scheduleSoon();
    },
    onPodChanged: (uid) => {
      void podRefresher.relist(uid);
    },
    onPodRemoved: (uid, pod) => {
      // Their files were removed with the folder. If the pod starts over, they are written again.
      statusRecords.startOver(uid);
      appliedRevisions.drop(uid);
      ephemeral.drop(uid);
      evictionRecords.drop(uid);
      histories.podRemoved(uid, pod);
      // The workload of a pod of an earlier agent may wait until nothing is left of it.
      inputs.push({ type: 'workloads' });
      volumeManager.wakeWaitingPods();
    },
  });
  const podRefresher = new PodRefresher({ pleg, cache, garbage, events, clock, stopped });
  const workers: PodWorkers = new PodWorkers({
    syncFrequencyMs: node.syncFrequencyMs,
    syncer,
    getNewerThan: (uid, newerThan, signal) => podRefresher.getNewerThan(uid, newerThan, signal),
    getCached: (uid) => cache.get(uid),
    dueInMs: (uid) => {
      const pod = podManager.get(uid);
      const record = statusRecords.of(uid);
      return pod && record && activeDeadlineLeftMs(pod, wallClock.since(record.acknowledgedAt));
    },
    enqueue: (uid, delayMs) => {
      workQueue.enqueue(uid, delayMs);
    },
    onNameFreed: (uid) => {
      workQueue.enqueue(uid, 0);
    },
    clock,
    random,
    logger: logger.child({ component: 'pod-workers' }),
    faults,
    emit,
  });
  const prepuller = new RevisionPrepuller({
    pull: (pod, recorder, signal) => prepull({ imageManager: earlier.imageManager, node }, pod, recorder, signal),
    onReady: syncSoon,
    emit,
    clock,
    logger: logger.child({ component: 'images' }),
    stopped,
  });
  const inPlaceUpdates = new InPlaceUpdates({
    node,
    podManager,
    workers,
    runningRevision: (uid) => appliedRevisions.of(uid),
    runtimePods: () => pleg.pods(),
    runtimePod: (uid) => pleg.runtimePod(uid),
    reservedPods,
    prepuller,
    meter,
    emit,
    onWaitChanged: syncSoon,
  });
  return { garbage, podRefresher, workers, prepuller, inPlaceUpdates };
}

import { ContainerCollector } from '../gc/container-collector.ts';
import { DeadLogs } from '../gc/dead-logs.ts';
import { ImageCollector } from '../images/image-collector.ts';
import type { KubeletBase } from './kubelet-deps.ts';
import type { PodRemover } from '../kuberuntime/pod-remover.ts';
import { ContainerLogManager } from '../logs/container-log-manager.ts';
import type { PodState } from './new-pod-state.ts';
import type { PodSyncing } from './new-pod-syncer.ts';
import type { Workers } from './new-pod-workers.ts';
import type { RuntimeWatch } from './new-runtime-watch.ts';

export type Collectors = ReturnType<typeof newCollectors>;

type Earlier = PodState &
  RuntimeWatch &
  Workers &
  Pick<PodSyncing, 'pullRecords' | 'statuses'> & { podRemover: PodRemover };

/** Creates the components that free disk space: they remove unused images, dead containers and old logs. */
export function newCollectors(base: KubeletBase, earlier: Earlier, engine: { areSourcesSeen: () => boolean }) {
  const { clock, emit, foreignPods, logger, meter, node, runtime, wallClock } = base;
  const {
    cache,
    histories,
    podRefresher,
    pleg,
    podDirs,
    podManager,
    podRemover,
    garbage,
    runtimePods,
    statuses,
    workers,
  } = earlier;
  const gcLogger = logger.child({ component: 'gc' });
  const runningContainers = (): { id: string; name: string; podUID: string }[] =>
    pleg
      .pods()
      .flatMap(({ uid: podUID, containers }) =>
        containers.filter(({ state }) => state === 'running').map(({ id, name }) => ({ id, name, podUID })),
      );
  const imageCollector = new ImageCollector({
    runtime: { ...runtime, listContainers: foreignPods.listAllContainers },
    imageService: base.imageService,
    policy: node.images.gc,
    meter,
    pods: () => [...podManager.pods(), ...workers.pods(), ...earlier.inPlaceUpdates.pods()],
    keptImages: base.keptImages,
    pullRecords: earlier.pullRecords,
    readFilesystem: base.readFilesystem,
    clock,
    emit,
    logger: gcLogger,
  });
  const containerCollector = new ContainerCollector({
    runtime,
    runtimePods,
    podRemover,
    policy: node.containerGC,
    listedPods: () => pleg.pods(),
    ownPodUIDs: () => podDirs.podUIDs(),
    deadLogs: new DeadLogs({
      ...node,
      isForeign: (uid) => foreignPods.holderOf(uid) !== undefined,
      isKnown: (uid) => workers.has(uid) || podManager.get(uid) !== undefined || pleg.runtimePod(uid) !== undefined,
      runningContainers: () => new Set(runningContainers().map(({ id }) => id)),
      wasOurs: (pod) => histories.hasRevision(pod),
      logger: gcLogger,
    }),
    areSourcesSeen: engine.areSourcesSeen,
    hasEnded: (uid) => workers.has(uid) && workers.shouldPodRuntimeBeRemoved(uid),
    isBeingRemoved: (uid) => garbage.removalOf(uid) !== undefined,
    onPodChanged: (uid) => {
      void podRefresher.relist(uid);
    },
    keepEnd: async (uid, containerID) => {
      const pod = podManager.get(uid);
      if (pod === undefined) return engine.areSourcesSeen();
      const podStatus = cache.get(uid);
      const known = podStatus.containerStatuses.find(({ id }) => id === containerID);
      // A container that never started did nothing worth keeping.
      if (known?.state === 'created') return true;
      return known?.state === 'exited' && statuses.saveDone(pod, podStatus);
    },
    clock,
    wallClock,
    emit,
  });
  const containerLogManager = new ContainerLogManager({
    settings: node.containerLogs,
    runtime,
    runningContainers,
    clock,
    logger: logger.child({ component: 'logs' }),
  });
  return { imageCollector, containerCollector, containerLogManager };
}

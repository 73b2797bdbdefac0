import { BackOff } from '../../flow/back-off.ts';
import { ContainerManager } from '../container-manager/container-manager.ts';
import { PodRemains } from '../gc/pod-remains.ts';
import { PodRemover } from '../kuberuntime/pod-remover.ts';
import { variableTexts } from '../history/hide-variables.ts';
import { historyFolder } from '../history/history-file.ts';
import { PodHistories } from '../history/pod-histories.ts';
import { contentStore, contentStoreProgress } from '../images/content-store.ts';
import { ImageManager } from '../images/image-manager.ts';
import { ImagesAhead } from '../images/images-ahead.ts';
import { layerIngests } from '../images/layer-ingests.ts';
import { PullCredentials } from '../images/pull-credentials.ts';
import { PullWatch } from '../images/pull-watch.ts';
import { crashLoopBackOffLimits } from '../kuberuntime/crash-loop-back-off.ts';
import { KuberuntimeManager } from '../kuberuntime/kuberuntime-manager.ts';
import { PodNews } from '../pleg/pod-news.ts';
import { KubeletPodSyncer } from '../pod-syncer.ts';
import { PodWorkers } from '../pod-workers/pod-workers.ts';
import { ProberManager } from '../prober/prober-manager.ts';
import { activeDeadlineLeftMs } from '../status/active-deadline.ts';
import { ipFamilyOf } from '../status/pod-ips.ts';
import { ReasonCache } from '../status/reason-cache.ts';
import { UserNamespaces } from '../userns/user-namespaces.ts';
import { VolumeManager } from '../volumes/volume-manager.ts';
import type { Foundation } from './foundation.ts';
import type { KubeletDeps } from './kubelet-deps.ts';
import type { RuntimeView } from './runtime-view.ts';

/** What brings pods up, keeps them, and takes them down. */
export interface PodCare {
  containerManager: ContainerManager;
  histories: PodHistories;
  podRemover: PodRemover;
  remains: PodRemains;
  news: PodNews;
  volumeManager: VolumeManager;
  prober: ProberManager;
  reasonCache: ReasonCache;
  backOff: BackOff;
  imageManager: ImageManager;
  workers: PodWorkers;
  imagesAhead: ImagesAhead;
  pullWatch: PullWatch;
}

export function buildPodCare(
  deps: KubeletDeps,
  foundation: Foundation,
  view: RuntimeView,
  stopped: AbortSignal,
): PodCare {
  const { clock, node, runtime, logger, faults } = deps;
  const { events, inputs, configObjects, podManager, statusManager, statusRecords, podDirs, workQueue, wallClock } =
    foundation;
  const { runtimePods, cache, pleg, runtimeState } = view;
  const { emit } = events;
  const reasonCache = new ReasonCache();
  const backOff = new BackOff(clock, crashLoopBackOffLimits(node));
  const containerManager: ContainerManager = new ContainerManager({
    node,
    cgroups: deps.cgroups,
    activePods: () => workers.activePods(),
    ownPodUIDs: () => podDirs.podUIDs(),
    emit,
    logger: logger.child({ component: 'container-manager' }),
  });
  const { podCgroups, qosCgroups } = containerManager;
  events.subscribe((event) => {
    if (event.type === 'WorkerStateChanged') void qosCgroups.update();
  });
  const histories = new PodHistories({
    folder: historyFolder(node.rootDir),
    variablesOf: (podUID) => {
      const pod = podManager.get(podUID);
      return pod && variableTexts(pod);
    },
    isDeclared: ({ namespace, name }) => podManager.getByFullName(`${name}_${namespace}`) !== undefined,
    clock,
    logger: logger.child({ component: 'history' }),
  });
  events.subscribe(histories.record);
  const podRemover = new PodRemover({ runtime, ...node, foreignPods: deps.foreignPods });
  const remains: PodRemains = new PodRemains({
    runtimePods,
    foreignPods: deps.foreignPods,
    listedPods: () => pleg.pods(),
    podRemover,
    podCgroups,
    podDirs,
    logger: logger.child({ component: 'gc' }),
    faults,
    isKnown: (uid) => podManager.get(uid) !== undefined || workers.has(uid),
    killOrphan: (runningPod) => {
      workers.updatePod({ type: 'kill', runningPod });
    },
    onPodChanged: (uid) => {
      void news.relist(uid);
    },
    onPodRemoved: (uid, pod) => {
      histories.podRemoved(uid, pod);
    },
  });
  const news = new PodNews({ pleg, cache, remains, events, clock, stopped });
  const volumeManager = new VolumeManager({
    podDirs,
    configObjects,
    allocatable: node.allocatable,
    clock,
    imageVolumes: node.featureGates.ImageVolume,
  });
  const prober = new ProberManager({
    runtime,
    checkHealth: deps.checkHealth,
    getStatus: (uid) => statusManager.get(uid),
    onChange: (change) => {
      inputs.push({ type: 'probe', change });
    },
    emit,
    clock,
    wallClock,
    random: deps.random,
  });
  const store = contentStore(runtime);
  const pullWatch = new PullWatch({ readIngests: layerIngests(store), clock, emit });
  const imageManager = new ImageManager({
    imageService: deps.imageService,
    backOff: new BackOff(clock),
    clock,
    settings: node.images,
    pullProgress: contentStoreProgress(store),
    pullWatch,
    credentials: new PullCredentials({ configObjects, nodeCredentials: deps.nodeCredentials, secrets: deps.secrets }),
  });
  const syncer = new KubeletPodSyncer({
    kuberuntime: new KuberuntimeManager({
      runtime,
      imageManager,
      podDirs,
      configObjects,
      podRemover,
      userNamespaces: node.featureGates.UserNamespacesSupport
        ? new UserNamespaces({ podDirs, isSupported: () => runtimeState.supportsUserNamespaces })
        : undefined,
      node,
      supportsRecursiveReadOnly: () => runtimeState.supportsRecursiveReadOnly,
      restartCounts: histories,
      clock,
      wallClock,
      backOff,
      logger: logger.child({ component: 'kuberuntime' }),
    }),
    podDirs,
    volumeManager,
    statusManager,
    statusRecords,
    prober,
    reasonCache,
    containerManager,
    clock,
    wallClock,
    emit,
    networkError: () => runtimeState.networkError,
    supportsRecursiveReadOnly: () => runtimeState.supportsRecursiveReadOnly,
    runtimeName: () => runtimeState.name,
    nodeIPFamily: ipFamilyOf(node.nodeIPs),
    getPodStatus: (uid) => runtimePods.getPodStatus(uid),
    onPodChanged: (uid) => {
      news.changed(uid);
    },
    isPodGone: (uid) => podManager.get(uid) === undefined || workers.isRestartRequested(uid),
    removePod: async (uid) => {
      await statusRecords.release(uid);
      await remains.removePod(uid);
    },
  });
  const workers: PodWorkers = new PodWorkers({
    syncFrequencyMs: node.syncFrequencyMs,
    syncer,
    getNewerThan: (uid, newerThan, signal) => news.getNewerThan(uid, newerThan, signal),
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
    random: deps.random,
    logger: logger.child({ component: 'pod-workers' }),
    faults,
    emit,
  });
  const imagesAhead = new ImagesAhead({
    pullAhead: (pod, signal) => syncer.pullAhead(pod, signal),
    onReady: (podUID) => {
      inputs.push({ type: 'sync', podUID });
    },
    clock,
    logger: logger.child({ component: 'images' }),
    stopped,
  });
  return {
    containerManager,
    histories,
    podRemover,
    remains,
    news,
    volumeManager,
    prober,
    reasonCache,
    backOff,
    imageManager,
    workers,
    imagesAhead,
    pullWatch,
  };
}

import type { Clock } from '../clock.ts';
import type { ImageService } from '../cri/image-service.ts';
import type { RuntimeService } from '../cri/runtime-service.ts';
import type { Logger } from '../logger.ts';
import { AsyncQueue } from './async-queue.ts';
import { BackOff } from './back-off.ts';
import { ConfigObjects } from './config/config-objects.ts';
import { ConfigReader } from './config/config-reader.ts';
import type { PodSource } from './config/pod-source.ts';
import type { CgroupManager } from './container-manager/cgroup-manager.ts';
import { ContainerManager } from './container-manager/container-manager.ts';
import { EventBus } from './event-bus.ts';
import { LocalStorageEviction } from './eviction/local-storage-eviction.ts';
import { PodEvictions } from './eviction/pod-evictions.ts';
import { ContainerCollector } from './gc/container-collector.ts';
import { ImageCollector } from './gc/image-collector.ts';
import type { ImageFilesystem } from './gc/image-gc.ts';
import { PodRemains } from './gc/pod-remains.ts';
import { PodRemover } from './gc/pod-remover.ts';
import { secretTexts } from './history/hide-secrets.ts';
import { historyFolder } from './history/history-file.ts';
import { PodHistories } from './history/pod-histories.ts';
import { Housekeeping } from './housekeeping.ts';
import { contentStoreProgress } from './images/content-store.ts';
import type { DockerConfig } from './images/docker-config.ts';
import { ImageManager } from './images/image-manager.ts';
import { PullCredentials } from './images/pull-credentials.ts';
import { ImagesAhead } from './images/images-ahead.ts';
import { crashLoopBackOffLimits } from './kuberuntime/crash-loop-back-off.ts';
import { KuberuntimeManager } from './kuberuntime/kuberuntime-manager.ts';
import { type ReadTerminationMessage, RuntimePods } from './kuberuntime/runtime-pods.ts';
import { admissionNews } from './lifecycle/admission-news.ts';
import { NodeShutdown } from './lifecycle/node-shutdown.ts';
import { PodAdmission } from './lifecycle/pod-admission.ts';
import type { NodeConfig } from './node-config.ts';
import { EventWatch } from './pleg/event-watch.ts';
import { GenericPleg } from './pleg/generic-pleg.ts';
import { PodCache } from './pleg/pod-cache.ts';
import { PodNews } from './pleg/pod-news.ts';
import { isPodRunning } from './pleg/pod-records.ts';
import type { RuntimeEventStream } from './pleg/runtime-event-stream.ts';
import { PodDirs } from './pod-dirs.ts';
import { PodManager } from './pod-manager/pod-manager.ts';
import { KubeletPodSyncer } from './pod-syncer.ts';
import { PodWorkers } from './pod-workers/pod-workers.ts';
import { WorkQueue } from './pod-workers/work-queue.ts';
import { ProberManager } from './prober/prober-manager.ts';
import type { CheckHealth } from './prober/run-probe.ts';
import { RuntimeState } from './runtime-state.ts';
import { ReasonCache } from './status/reason-cache.ts';
import { StatusManager } from './status/status-manager.ts';
import { SyncHandlers } from './sync-handlers.ts';
import type { SyncLoopInput } from './sync-loop.ts';
import { UserNamespaces } from './userns/user-namespaces.ts';
import { VolumeManager } from './volumes/volume-manager.ts';

export interface KubeletDeps {
  runtime: RuntimeService;
  imageService: ImageService;
  /** Ways to be told what happens in the runtime, best first. */
  eventStreams: readonly RuntimeEventStream[];
  sources: readonly PodSource[];
  node: NodeConfig;
  cgroups: CgroupManager;
  /** Where the runtime is and why it was chosen, for readers of the snapshot. */
  endpoint: { endpoint: string; because: string };
  /** Pods of an earlier life that no manifest declares stay as they are. */
  leaveOrphans: boolean;
  /** The registry credentials that the node has for a repository. It does not reject. */
  nodeCredentials: (repository: string) => Promise<DockerConfig[]>;
  /** Images that stay although nothing uses them. */
  keptImages: readonly string[];
  /** Size of the file system that a path is on, and what is free of it. */
  readFilesystem: (path: string) => Promise<ImageFilesystem>;
  readTerminationMessage: ReadTerminationMessage;
  /** Asks a gRPC server for its health, for probes. */
  checkHealth: CheckHealth;
  clock: Clock;
  /** Uniform in [0, 1). */
  random: () => number;
  logger: Logger;
}

/** The parts of the engine, tied to each other. */
export interface KubeletParts {
  events: EventBus;
  histories: PodHistories;
  /** Of the sync loop. */
  inputs: AsyncQueue<SyncLoopInput>;
  config: ConfigReader;
  podManager: PodManager;
  pleg: GenericPleg;
  eventWatch: EventWatch;
  runtimeState: RuntimeState;
  workQueue: WorkQueue;
  workers: PodWorkers;
  statusManager: StatusManager;
  podDirs: PodDirs;
  containerManager: ContainerManager;
  remains: PodRemains;
  housekeeping: Housekeeping;
  admission: PodAdmission;
  handlers: SyncHandlers;
  localStorageEviction: LocalStorageEviction;
  imageCollector: ImageCollector;
  containerCollector: ContainerCollector;
  nodeShutdown: NodeShutdown;
}

/** Builds every part of the engine; none of them does anything yet. `stopped` ends what they have under way. */
export function buildParts(deps: KubeletDeps, stopped: AbortSignal): KubeletParts {
  const { clock, node, runtime, logger } = deps;
  const events = new EventBus({ clock });
  const { emit } = events;
  const inputs = new AsyncQueue<SyncLoopInput>();
  const configObjects = new ConfigObjects();
  const podManager = new PodManager();
  const cache = new PodCache();
  const config = new ConfigReader({
    sources: deps.sources,
    configObjects,
    featureGates: node.featureGates,
    clock,
    emit,
    onUpdate: (update) => {
      inputs.push({ type: 'config', update });
    },
    onConfigObjectsChanged: (keys) => {
      inputs.push({ type: 'configObjects', keys });
    },
  });
  const runtimePods = new RuntimePods({ runtime, readTerminationMessage: deps.readTerminationMessage });
  const pleg = new GenericPleg({
    runtime: runtimePods,
    cache,
    clock,
    logger: logger.child({ component: 'pleg' }),
    onEvents: (events, status) => {
      if (events.length > 0) inputs.push({ type: 'pleg', events, status });
    },
  });
  const eventWatch = new EventWatch({
    streams: deps.eventStreams,
    pleg,
    podUIDOf: (id, signal) => runtimePods.podUIDOf(id, signal),
    clock,
    logger: logger.child({ component: 'pleg' }),
  });
  const runtimeState = new RuntimeState({ runtime, clock, emit, plegUnhealthyBecause: () => pleg.unhealthyBecause() });
  const workQueue = new WorkQueue({
    clock,
    onDue: (podUID) => {
      inputs.push({ type: 'sync', podUID });
    },
  });
  const housekeeping = new Housekeeping({
    clock,
    onDue: () => {
      inputs.push({ type: 'housekeeping' });
    },
  });
  const statusManager = new StatusManager({ emit });
  const podDirs = new PodDirs(node);
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
    const podNews = admissionNews(event);
    if (podNews !== undefined) admission.note(podNews);
  });
  const histories = new PodHistories({
    folder: historyFolder(node.rootDir),
    secretsOf: (podUID) => {
      const pod = podManager.get(podUID);
      return pod && secretTexts(pod, configObjects);
    },
    isDeclared: ({ namespace, name }) => podManager.getByFullName(`${name}_${namespace}`) !== undefined,
    clock,
    logger: logger.child({ component: 'history' }),
  });
  events.subscribe(histories.record);
  const podRemover = new PodRemover({ runtime, ...node });
  const remains: PodRemains = new PodRemains({
    runtimePods,
    podRemover,
    podCgroups,
    podDirs,
    logger: logger.child({ component: 'gc' }),
    isKnown: (uid) => podManager.get(uid) !== undefined || workers.has(uid),
    killOrphan: (runningPod) => {
      workers.updatePod({ type: 'kill', runningPod });
    },
    onPodChanged: (uid) => {
      void news.relist(uid);
    },
    onPodRemoved: (pod) => {
      histories.podRemoved(pod);
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
    random: deps.random,
  });
  const syncer = new KubeletPodSyncer({
    kuberuntime: new KuberuntimeManager({
      runtime,
      imageManager: new ImageManager({
        imageService: deps.imageService,
        backOff: new BackOff(clock),
        clock,
        settings: node.images,
        pullProgress: contentStoreProgress(runtime),
        credentials: new PullCredentials({ configObjects, nodeCredentials: deps.nodeCredentials }),
      }),
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
      backOff,
      logger: logger.child({ component: 'kuberuntime' }),
    }),
    podDirs,
    volumeManager,
    statusManager,
    prober,
    reasonCache,
    containerManager,
    clock,
    emit,
    networkError: () => runtimeState.networkError,
    supportsRecursiveReadOnly: () => runtimeState.supportsRecursiveReadOnly,
    runtimeName: () => runtimeState.name,
    getPodStatus: (uid) => runtimePods.getPodStatus(uid),
    onPodChanged: (uid) => {
      news.changed(uid);
    },
    isPodGone: (uid) => podManager.get(uid) === undefined || workers.isRestartRequested(uid),
    removePod: (uid) => remains.removePod(uid),
  });
  const workers: PodWorkers = new PodWorkers({
    syncFrequencyMs: node.syncFrequencyMs,
    syncer,
    getNewerThan: (uid, newerThan, signal) => news.getNewerThan(uid, newerThan, signal),
    getCached: (uid) => cache.get(uid),
    enqueue: (uid, delayMs) => {
      workQueue.enqueue(uid, delayMs);
    },
    onNameFreed: (uid) => {
      workQueue.enqueue(uid, 0);
    },
    clock,
    random: deps.random,
    logger: logger.child({ component: 'pod-workers' }),
    emit,
  });
  const evictions = new PodEvictions({ workers, statusManager, emit, clock });
  const localStorageEviction = new LocalStorageEviction({
    pods: () => workers.pods().filter(({ metadata }) => !workers.isPodTerminationRequested(metadata.uid)),
    volumeManager,
    evict: (pod, message) => {
      evictions.evict(pod, message);
    },
    clock,
    logger: logger.child({ component: 'eviction' }),
  });
  const admission = new PodAdmission({
    // Pressure is to come.
    node: () => ({
      ...node,
      name: node.nodeName,
      taints: [],
      pressures: [],
      isShuttingDown: nodeShutdown.isShuttingDown,
    }),
    declaredPods: () => podManager.pods(),
    activePods: () => workers.activePods().filter(({ metadata }) => podManager.get(metadata.uid) !== undefined),
    isRunning: (uid) => pleg.pods().some((pod) => pod.uid === uid && isPodRunning(pod)),
    killPod: (pod) => {
      workers.updatePod({ type: 'kill', pod, killPodOptions: { evict: true } });
      // It comes back when there is room for it again.
      workers.updatePod({ type: 'create', pod });
    },
    statusManager,
    clock,
    emit,
    onDue: () => {
      inputs.push({ type: 'admission' });
    },
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
  const nodeShutdown: NodeShutdown = new NodeShutdown({
    settings: node.shutdown,
    workers,
    statusManager,
    events,
    onCancelled: (stopped) => {
      // What is never restarted stays as it ended.
      for (const pod of stopped) {
        if (pod.spec.restartPolicy !== 'Never') workers.updatePod({ type: 'create', pod });
      }
      admission.note('node');
      housekeeping.request();
    },
    clock,
    logger: logger.child({ component: 'node-shutdown' }),
  });
  const handlers = new SyncHandlers({
    podManager,
    workers,
    statusManager,
    prober,
    runtimeName: () => runtimeState.name,
    reasonCache,
    events,
    backOff,
    evictions,
    remains,
    sourceIds: config.sourceIds,
    runtimePods: () => pleg.pods(),
    relistPod: (uid) => news.relist(uid),
    housekeeping,
    admission,
    imagesAhead,
    isNameDeclared: (fullName) => config.declares(fullName),
    leaveOrphans: deps.leaveOrphans,
  });
  const imageCollector = new ImageCollector({
    runtime,
    imageService: deps.imageService,
    policy: node.images.gc,
    pods: () => [...podManager.pods(), ...workers.pods()],
    keptImages: deps.keptImages,
    readFilesystem: deps.readFilesystem,
    clock,
    emit,
    logger: logger.child({ component: 'gc' }),
  });
  const containerCollector = new ContainerCollector({
    runtime,
    runtimePods,
    podRemover,
    listedPods: () => pleg.pods(),
    ownPodUIDs: () => podDirs.podUIDs(),
    isBeingRemoved: (uid) => remains.removalOf(uid) !== undefined,
    onPodChanged: (uid) => {
      void news.relist(uid);
    },
    clock,
    emit,
    logger: logger.child({ component: 'gc' }),
  });
  return {
    events,
    histories,
    inputs,
    config,
    podManager,
    pleg,
    eventWatch,
    runtimeState,
    workQueue,
    workers,
    statusManager,
    podDirs,
    containerManager,
    remains,
    housekeeping,
    admission,
    handlers,
    localStorageEviction,
    imageCollector,
    containerCollector,
    nodeShutdown,
  };
}

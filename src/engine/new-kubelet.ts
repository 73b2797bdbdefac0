import { join } from 'node:path';
import type { Pod } from '../api/types.ts';
import { AsyncQueue } from '../flow/async-queue.ts';
import { BackOff } from '../flow/back-off.ts';
import { WallClockHistory } from '../flow/wall-clock-history.ts';
import { ConfigObjects } from './config/config-objects.ts';
import { ConfigReader } from './config/config-reader.ts';
import type { PodResources } from './container-manager/resource-managers/pod-resources.ts';
import { ContainerManager } from './container-manager/container-manager.ts';
import { ContainerEnds } from './container/container-ends.ts';
import { isPodRunning } from './container/pod-records.ts';
import { diskLayoutOfRuntime } from './eviction/disk-layout-of-runtime.ts';
import { EvictionLoop } from './eviction/eviction-loop.ts';
import { EmptyDirUsage } from './eviction/empty-dir-usage.ts';
import { EvictionRecords } from './eviction/eviction-records.ts';
import { NodeConditions } from './eviction/node-conditions.ts';
import { PodEvictions } from './eviction/pod-evictions.ts';
import { ContainerCollector } from './gc/container-collector.ts';
import { DeadLogs } from './gc/dead-logs.ts';
import { PodRemains } from './gc/pod-remains.ts';
import { historyFolder } from './history/history-file.ts';
import { PodHistories, variableTexts } from './history/pod-histories.ts';
import { PodDirs } from './host/pod-dirs.ts';
import { Housekeeping } from './housekeeping.ts';
import { contentStore, contentStoreProgress } from './images/content-store.ts';
import { ImageCollector } from './images/image-collector.ts';
import { ImageManager } from './images/image-manager.ts';
import { ImagesAhead } from './images-ahead.ts';
import { AppliedRevisions } from './in-place/applied-revisions.ts';
import { identifyPod, revisionOf } from './in-place/identify-pod.ts';
import { InPlaceUpdates } from './in-place-updates.ts';
import { layerIngests } from './images/layer-ingests.ts';
import { PullCredentials } from './images/pull-credentials.ts';
import { PullWatch } from './images/pull-watch.ts';
import { PodOperations } from './operations/pod-operations.ts';
import { PodRecords } from './operations/pod-records.ts';
import { knownRevisions } from './known-revisions.ts';
import type { KubeletDeps } from './kubelet-deps.ts';
import { crashLoopBackOffLimits } from './kuberuntime/actions/crash-loop-back-off.ts';
import { KuberuntimeManager } from './kuberuntime/kuberuntime-manager.ts';
import { PodRemover } from './kuberuntime/pod-remover.ts';
import { RuntimePods } from './kuberuntime/runtime-pods.ts';
import { admissionNews } from './lifecycle/admission-news.ts';
import { shutdownSeconds } from './lifecycle/node-shutdown-groups.ts';
import { newCSI, usesDrivers } from './new-csi.ts';
import { NodeShutdown } from './lifecycle/node-shutdown.ts';
import { PodAdmission } from './lifecycle/pod-admission.ts';
import { ShutdownWatch } from './lifecycle/shutdown-watch.ts';
import { ContainerLogManager } from './logs/container-log-manager.ts';
import { oomContainers } from './oom/find-oom-container.ts';
import { MemoryEvents } from './oom/memory-events.ts';
import { OOMWatcher } from './oom/oom-watcher.ts';
import { podsCgroupFolder } from './oom/pods-cgroup-folder.ts';
import { maxTerminationMessageBytes, OutgoingText } from './outgoing/outgoing-text.ts';
import { EventWatch } from './pleg/event-watch.ts';
import { GenericPleg } from './pleg/generic-pleg.ts';
import { PodCache } from './pleg/pod-cache.ts';
import { PodNews } from './pleg/pod-news.ts';
import type { PluginHandlers } from './plugin-manager/plugin-handler.ts';
import { PluginManager } from './plugin-manager/plugin-manager.ts';
import { PodManager } from './pod-manager/pod-manager.ts';
import { KubeletPodSyncer } from './pod-syncer.ts';
import { PodWorkers } from './pod-workers/pod-workers.ts';
import { workersEnded } from './pod-workers/workers-ended.ts';
import { WorkQueue } from './pod-workers/work-queue.ts';
import { ProberManager } from './prober/prober-manager.ts';
import { RuntimeState } from './runtime-state.ts';
import { PodResourcesSocket, podResourcesLister } from './list-pod-resources.ts';
import { newDevices } from './new-devices.ts';
import { newMemoryWatch } from './new-memory-watch.ts';
import { activeDeadlineLeftMs } from './status/active-deadline.ts';
import { ipFamilyOf } from './status/generate-pod-status.ts';
import { ReasonCache } from './status/reason-cache.ts';
import { isReady, StatusManager } from './status/status-manager.ts';
import { StatusRecords } from './status/status-records.ts';
import { SyncHandlers } from './sync-handlers.ts';
import type { SyncLoopInput } from './sync-loop.ts';
import { runsAsDeclared } from './take-snapshot.ts';
import { UserNamespaces } from './userns/user-namespaces.ts';
import { EventBus } from './view/event-bus.ts';
import { VolumeClaims } from './persistent-volumes/volume-claims.ts';
import { VolumeManager } from './volumes/volume-manager.ts';
import { WallClockStore } from './wall-clock-store.ts';

/**
 * Makes and connects all components of the engine. None of them acts yet. `stopped` ends their work. kubelet:
 * kubelet.go NewMainKubelet
 */
export function newKubelet(deps: KubeletDeps, stopped: AbortSignal) {
  const { clock, node, runtime, secrets, faults, logger } = deps;

  // The base of all other components, with the sources of the sync loop's inputs.
  const outgoing = new OutgoingText({ secrets });
  const events = new EventBus({ clock, outgoing, faults: faults });
  const { emit } = events;
  const inputs = new AsyncQueue<SyncLoopInput>();
  const configObjects = new ConfigObjects();
  configObjects.replace('<configuration>', node.runtimeClasses);
  const podManager = new PodManager();
  const podDirs = new PodDirs(node);
  const statusRecords = new StatusRecords({
    podDir: (uid) => podDirs.podDir(uid),
    clock,
    logger: logger.child({ component: 'status' }),
  });
  const revisions = new AppliedRevisions({
    podDir: (uid) => podDirs.podDir(uid),
    policy: node.inPlace,
    logger: logger.child({ component: 'in-place' }),
  });
  const evictionLogger = logger.child({ component: 'eviction' });
  const evictionRecords = new EvictionRecords({ podDir: (uid) => podDirs.podDir(uid), logger: evictionLogger });
  const statusManager = new StatusManager({
    emit,
    outgoing,
    onStartOver: (uid) => {
      statusRecords.startOver(uid);
    },
  });
  const records = new PodRecords({ rootDir: node.rootDir, clock, logger: logger.child({ component: 'operations' }) });
  const config: ConfigReader = new ConfigReader({
    sources: deps.sources,
    configObjects,
    secrets,
    featureGates: node.featureGates,
    faults: faults,
    clock,
    emit,
    revisionToRun: (declared, from) => operations.revisionToRun(declared, from),
    identify: (pod, previous) => {
      const known = knownRevisions({ podManager, workers, statusManager, revisions }, pod, previous);
      return identifyPod(pod, known, node.inPlace);
    },
    onUpdate: (update) => {
      inputs.push({ type: 'config', update });
    },
    onConfigObjectsChanged: (keys) => {
      inputs.push({ type: 'configObjects', keys });
    },
  });
  const workQueue = new WorkQueue({
    clock,
    onDue: (podUID) => {
      inputs.push({ type: 'sync', podUID });
    },
  });
  const wallClock = new WallClockHistory(clock);
  const wallClockStore = new WallClockStore({
    rootDir: node.rootDir,
    wallClock,
    clock,
    logger: logger.child({ component: 'clock' }),
  });
  const housekeeping = new Housekeeping({
    clock,
    onDue: () => {
      wallClock.observe();
      inputs.push({ type: 'housekeeping' });
    },
  });

  // The state of the runtime.
  const cache = new PodCache();
  const ends = new ContainerEnds();
  const runtimePods = new RuntimePods({
    runtime,
    // Hides secrets here, before the status cuts the message, possibly within a value.
    readTerminationMessage: async (status) =>
      outgoing.text(await deps.readTerminationMessage(status), maxTerminationMessageBytes),
    ends,
  });
  const pleg = new GenericPleg({
    runtime: runtimePods,
    cache,
    clock,
    logger: logger.child({ component: 'pleg' }),
    meter: deps.meter,
    onEvents: (events, status) => {
      if (events.length > 0) inputs.push({ type: 'pleg', events, status });
    },
  });
  const oomWatcher = new OOMWatcher({
    ...oomContainers({
      listedPod: (uid) => pleg.pod(uid),
      declaredPod: (uid) => podManager.get(uid),
      listedPodUIDOf: (id) => pleg.podUIDOf(id),
      askPodUIDOf: (id) => runtimePods.podUIDOf(id, stopped),
      askStatus: (id) => runtimePods.getContainerStatus(id, { signal: stopped }),
    }),
    openKernelLog: deps.openKernelLog,
    clock,
    emit,
    logger: logger.child({ component: 'oom' }),
  });
  events.subscribe((event) => {
    void oomWatcher.containerDied(event, stopped);
  });
  const podsFolder = podsCgroupFolder(deps.unifiedCgroups, node);
  const memoryEvents =
    podsFolder === undefined
      ? undefined
      : new MemoryEvents({
          folder: podsFolder,
          onKill: (podUID, containerIDs) => {
            void oomWatcher.killedInPod(podUID, containerIDs, stopped);
          },
          clock,
        });
  const eventWatch = new EventWatch({
    streams: deps.eventStreams,
    pleg,
    ends,
    podUIDOf: (id, signal) => runtimePods.podUIDOf(id, signal),
    meter: deps.meter,
    onOutOfMemory: (id) => {
      void oomWatcher.killedIn(id, stopped);
    },
    clock,
    logger: logger.child({ component: 'pleg' }),
  });
  const runtimeState = new RuntimeState({ runtime, clock, emit, plegUnhealthyBecause: () => pleg.unhealthyBecause() });

  // Starts, maintains and stops pods.
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
  const devices =
    deps.plugins &&
    newDevices({
      deps,
      plugins: deps.plugins,
      activePods: () => workers.activePods(),
      sourcesReady: () => handlers.hasSeenAllSources,
      managers: () => podResources,
      onAdmissible: () => {
        admission.note('devices');
        admission.note('room');
      },
      syncPods: (uids) => {
        for (const podUID of uids) inputs.push({ type: 'sync', podUID });
      },
    });
  const podResources: PodResources | undefined = deps.podResources?.({
    devices: devices?.hintProvider,
    activePods: () => workers.activePods(),
    sourcesReady: () => handlers.hasSeenAllSources,
    podStatus: (uid) => statusManager.get(uid),
    meter: deps.meter,
    updateContainer: async (containerId, cpusetCpus) => {
      await runtime.updateContainerResources({ containerId, linux: { cpusetCpus } });
    },
  });
  if (podResources !== undefined) {
    events.subscribe((event) => {
      if (event.type === 'ContainerDied') podResources.postStop(event.id);
      if (event.type === 'ContainerStarted' || event.type === 'WorkerStateChanged') podResources.soon();
    });
  }
  const podRemover = new PodRemover({ runtime, ...node, foreignPods: deps.foreignPods });
  const remains: PodRemains = new PodRemains({
    runtimePods,
    foreignPods: deps.foreignPods,
    listedPods: () => pleg.pods(),
    podRemover,
    policy: node.containerGC,
    podCgroups,
    podDirs,
    unmountVolumes: (uid) => volumeManager.unmountPodVolumes(uid),
    logger: logger.child({ component: 'gc' }),
    faults,
    meter: deps.meter,
    isKnown: (uid) => podManager.get(uid) !== undefined || workers.has(uid),
    killOrphan: (runningPod) => {
      workers.updatePod({ type: 'kill', runningPod });
    },
    onPodChanged: (uid) => {
      void news.relist(uid);
    },
    onPodRemoved: (uid, pod) => {
      // Their files went with the folder. If the pod starts over, they are written again.
      revisions.forget(uid);
      evictionRecords.forget(uid);
      histories.podRemoved(uid, pod);
      volumeManager.podRemoved();
    },
  });
  const news = new PodNews({ pleg, cache, remains, events, clock, stopped });
  const csi =
    deps.plugins &&
    newCSI({
      connect: deps.plugins.connectCSINode,
      node,
      podDirs,
      configObjects,
      onRegistered: () => {
        const waiting = podManager.pods().filter(usesDrivers);
        for (const { metadata } of waiting) workQueue.enqueue(metadata.uid, 0);
        housekeeping.request();
      },
      faults,
      logger: logger.child({ component: 'csi' }),
    });
  const volumeManager: VolumeManager = new VolumeManager({
    csi: csi?.volumes,
    podDirs,
    configObjects,
    allocatable: node.allocatable,
    clock,
    imageVolumes: node.featureGates.ImageVolume,
    claims: new VolumeClaims({
      rootDir: node.rootDir,
      storage: configObjects,
      node: { name: node.nodeName, labels: node.labels },
      podDirs,
      logger: logger.child({ component: 'volumes' }),
    }),
    onClaimFreed: (uid) => {
      workQueue.enqueue(uid, 0);
    },
    meter: deps.meter,
  });
  const prober = new ProberManager({
    runtime,
    checkHealth: deps.checkHealth,
    meter: deps.meter,
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
    meter: deps.meter,
  });
  const syncer = new KubeletPodSyncer({
    kuberuntime: new KuberuntimeManager({
      runtime,
      meter: deps.meter,
      imageManager,
      podDirs,
      configObjects,
      nodeClasses: configObjects,
      podRemover,
      podCgroups: containerManager.podResize,
      userNamespaces: node.featureGates.UserNamespacesSupport
        ? new UserNamespaces({ podDirs, isSupported: () => runtimeState.supportsUserNamespaces })
        : undefined,
      node,
      supportsRecursiveReadOnly: () => runtimeState.supportsRecursiveReadOnly,
      restartCounts: histories,
      podResources,
      devices,
      clock,
      wallClock,
      backOff,
      logger: logger.child({ component: 'kuberuntime' }),
    }),
    podDirs,
    volumeManager,
    statusManager,
    statusRecords,
    revisions,
    prober,
    reasonCache,
    containerManager,
    devices: node.featureGates.ResourceHealthStatus ? devices : undefined,
    clock,
    wallClock,
    emit,
    networkError: () => runtimeState.networkError,
    restarting: (pod) => operations.restarting(pod),
    supportsRecursiveReadOnly: () => runtimeState.supportsRecursiveReadOnly,
    runtimeName: () => runtimeState.name,
    nodeIPFamily: ipFamilyOf(node.nodeIPs),
    getPodStatus: (uid) => runtimePods.getPodStatus(uid),
    onPodChanged: (uid) => {
      news.changed(uid);
    },
    isPodGone: (uid) => podManager.get(uid) === undefined || workers.isRestartRequested(uid),
    removePod: async (uid) => {
      await Promise.all([statusRecords.release(uid), revisions.release(uid)]);
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

  const stats = deps.newStats({
    deps,
    podStatuses: () => pleg.pods().map(({ uid }) => cache.get(uid)),
    podOf: (uid) => podManager.get(uid) ?? workers.pods().find(({ metadata }) => metadata.uid === uid),
    volumeManager,
  });
  const inPlaceUpdates = new InPlaceUpdates({
    node,
    podManager,
    workers,
    runningRevision: (uid) => revisions.of(uid),
    runtimePods: () => pleg.pods(),
    pullForUpdate: (pod, signal) => syncer.pullForUpdate(pod, signal),
    onReady: (podUID) => {
      inputs.push({ type: 'sync', podUID });
    },
    emit,
    clock,
    logger: logger.child({ component: 'in-place' }),
    stopped,
  });

  const operations: PodOperations = new PodOperations({
    records,
    declaredPod: ({ namespace, name }) => podManager.getByFullName(`${name}_${namespace}`),
    declarers: (pod) => config.declarers(pod),
    isTerminating: (uid) => workers.isPodTerminationRequested(uid) && !workers.isPodKnownTerminated(uid),
    podStatus: (uid) => cache.get(uid),
    isReadyAsDeclared: (pod) =>
      isReady(statusManager.get(pod.metadata.uid)) && runsAsDeclared({ ...parts, handlers }, pod),
    redeclare: () => {
      config.redeclare();
    },
    stopPod: (podUID) => {
      inputs.push({ type: 'operation', operation: 'stop', podUID });
    },
    startPod: (podUID) => {
      inputs.push({ type: 'operation', operation: 'start', podUID });
    },
    retryPod: (podUID) => {
      imageManager.retry(podUID);
      syncer.retry(podUID);
      imagesAhead.forget(podUID);
      inputs.push({ type: 'sync', podUID });
    },
    wallClock,
    clock,
    emit,
  });

  // Decisions for the whole node: admission, eviction, shutdown and garbage collection.
  const conditions: NodeConditions = new NodeConditions({
    nodeName: node.nodeName,
    clock,
    emit,
    onRelieved: () => {
      evictions.relieved();
      admission.note('node');
    },
  });
  const evictions: PodEvictions = new PodEvictions({
    workers,
    statusManager,
    records: evictionRecords,
    mayBeUnderPressure: () => conditions.pressures.length > 0 || (evictionLoop.isNeeded && !conditions.areKnown),
    meter: deps.meter,
    emit,
    clock,
  });
  const admission = new PodAdmission({
    node: () => ({
      ...node,
      name: node.nodeName,
      taints: [],
      pressures: conditions.pressures,
      evictionPolicy: node.eviction.policy,
      isShuttingDown: nodeShutdown.isShuttingDown,
    }),
    declaredPods: () => podManager.pods(),
    activePods: () => workers.activePods().filter(({ metadata }) => podManager.get(metadata.uid) !== undefined),
    isRunning: (uid) => pleg.pods().some((pod) => pod.uid === uid && isPodRunning(pod)),
    killPod: (pod) => {
      workers.updatePod({ type: 'kill', pod, killPodOptions: { evict: true } });
      // The pod starts again when there is room.
      workers.updatePod({ type: 'create', pod });
    },
    podResources,
    meter: deps.meter,
    devices,
    classProblemOf: (pod) => config.classProblemOf(revisionOf(pod)),
    foreignPods: deps.foreignPods,
    statusManager,
    clock,
    emit,
    onDue: () => {
      inputs.push({ type: 'admission' });
    },
  });
  deps.foreignPods.onFreed(() => {
    admission.note('room');
  });
  events.subscribe((event) => {
    const podNews = admissionNews(event);
    if (podNews !== undefined) admission.note(podNews);
  });
  const nodeShutdown: NodeShutdown = new NodeShutdown({
    settings: node.shutdown,
    meter: deps.meter,
    workers,
    statusManager,
    events,
    onCancelled: (stopped) => {
      // Pods with restartPolicy Never stay ended.
      for (const pod of stopped) {
        if (pod.spec.restartPolicy !== 'Never') workers.updatePod({ type: 'create', pod });
      }
      admission.note('node');
      housekeeping.request();
    },
    clock,
    logger: logger.child({ component: 'node-shutdown' }),
  });
  const shutdownWatch =
    deps.logind &&
    new ShutdownWatch({
      logind: deps.logind,
      nodeShutdown,
      neededSeconds: shutdownSeconds(node.shutdown),
      clock,
      logger: logger.child({ component: 'node-shutdown' }),
    });
  const imageCollector = new ImageCollector({
    runtime: { ...runtime, listContainers: deps.foreignPods.listAllContainers },
    imageService: deps.imageService,
    policy: node.images.gc,
    meter: deps.meter,
    pods: () => [...podManager.pods(), ...workers.pods(), ...inPlaceUpdates.pods()],
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
    policy: node.containerGC,
    listedPods: () => pleg.pods(),
    ownPodUIDs: () => podDirs.podUIDs(),
    deadLogs: new DeadLogs({
      ...node,
      isForeign: (uid) => deps.foreignPods.holderOf(uid) !== undefined,
      isKnown: (uid) =>
        workers.has(uid) || podManager.get(uid) !== undefined || pleg.pods().some((pod) => pod.uid === uid),
      wasOurs: (pod) => histories.hasRevision(pod),
      logger: logger.child({ component: 'gc' }),
    }),
    areSourcesSeen: () => handlers.areSourcesSeen(),
    hasEnded: (uid) => workers.has(uid) && workers.shouldPodRuntimeBeRemoved(uid),
    isBeingRemoved: (uid) => remains.removalOf(uid) !== undefined,
    onPodChanged: (uid) => {
      void news.relist(uid);
    },
    clock,
    wallClock,
    emit,
  });
  const containerLogManager = new ContainerLogManager({
    settings: node.containerLogs,
    runtime,
    runningContainers: () =>
      pleg
        .pods()
        .flatMap(({ uid: podUID, containers }) =>
          containers.filter(({ state }) => state === 'running').map(({ id, name }) => ({ id, name, podUID })),
        ),
    clock,
    logger: logger.child({ component: 'logs' }),
  });
  const activePods = (): Pod[] =>
    workers.activePods().filter(({ metadata }) => !workers.isPodTerminationRequested(metadata.uid));
  const memoryWatch = newMemoryWatch(deps);
  const evictionLoop: EvictionLoop = new EvictionLoop({
    config: node.eviction,
    enforcesStorageLimits: node.localStorageCapacityIsolation,
    diskLayout: (signal) => diskLayoutOfRuntime({ ...deps, rootDir: node.rootDir }, signal),
    stats,
    emptyDirs: new EmptyDirUsage({ pods: activePods, volumeManager, clock, logger: evictionLogger }),
    memoryNotices: memoryWatch,
    activePods,
    reclaim: (what, signal) =>
      what === 'deadContainers'
        ? containerCollector.deleteAllUnusedContainers(signal)
        : imageCollector.deleteUnusedImages(signal),
    evict: (pod, eviction) => {
      evictions.evict(pod, eviction);
    },
    cleanedUp: async (pods) => {
      const uids = pods.map(({ metadata }) => metadata.uid);
      const unfinished = uids.filter((uid) => workers.snapshot(uid).state !== 'finished');
      await Promise.all(workersEnded(events, unfinished).values());
    },
    conditions,
    clock,
    wallClock,
    emit,
    logger: evictionLogger,
  });

  const pluginHandlers: PluginHandlers = {
    ...(devices && { DevicePlugin: devices.pluginHandler }),
    ...(csi && { CSIPlugin: csi.drivers }),
  };
  const pluginManager =
    deps.plugins &&
    new PluginManager({
      folder: join(node.rootDir, 'plugins_registry'),
      connect: deps.plugins.connectRegistration,
      handlers: pluginHandlers,
      clock,
      faults,
      logger: logger.child({ component: 'plugin-manager' }),
    });

  const podResourcesSocket =
    deps.plugins &&
    new PodResourcesSocket({
      path: join(node.rootDir, 'pod-resources', 'kubelet.sock'),
      serve: deps.plugins.servePodResources,
      lister: podResourcesLister({
        declaredPods: () => podManager.pods(),
        devices,
        podResources,
        mayGet: node.featureGates.KubeletPodResourcesGet,
      }),
    });

  const parts = {
    clock,
    records,
    operations,
    outgoing,
    events,
    inputs,
    podManager,
    devices,
    podResources,
    statusManager,
    statusRecords,
    podDirs,
    config,
    workQueue,
    housekeeping,
    wallClockStore,
    cache,
    pleg,
    eventWatch,
    oomWatcher,
    memoryEvents,
    runtimeState,
    containerManager,
    histories,
    remains,
    prober,
    reasonCache,
    backOff,
    imageManager,
    workers,
    imagesAhead,
    inPlaceUpdates,
    revisions,
    pullWatch,
    evictions,
    evictionRecords,
    conditions,
    evictionLoop,
    memoryWatch,
    admission,
    nodeShutdown,
    shutdownWatch,
    imageCollector,
    containerCollector,
    containerLogManager,
    pluginManager,
    podResourcesSocket,
    stats,
  };
  const handlers: SyncHandlers = new SyncHandlers({
    ...parts,
    runtimeName: () => runtimeState.name,
    sourceIds: config.sourceIds,
    runtimePods: () => pleg.pods(),
    relistPod: (uid) => news.relist(uid),
    isNameDeclared: (fullName) => config.declares(fullName),
    leaveOrphans: deps.leaveOrphans,
  });
  return { ...parts, handlers };
}

/** The components of the engine. */
export type KubeletParts = ReturnType<typeof newKubelet>;

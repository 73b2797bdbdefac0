import { setMaxListeners } from 'node:events';
import type { Pod } from '../api/types.ts';
import type { Clock } from '../clock.ts';
import type { ImageService } from '../cri/image-service.ts';
import type { RuntimeService } from '../cri/runtime-service.ts';
import type { Logger } from '../logger.ts';
import { AsyncQueue } from './async-queue.ts';
import { BackOff } from './back-off.ts';
import { ConfigObjects } from './config/config-objects.ts';
import { ConfigReader } from './config/config-reader.ts';
import { configAnnotations } from './config/pod-config.ts';
import type { PodSource } from './config/pod-source.ts';
import type { CgroupManager } from './container-manager/cgroup-manager.ts';
import { ContainerManager } from './container-manager/container-manager.ts';
import { EventBus } from './event-bus.ts';
import type { KubeletEvent } from './events.ts';
import { LocalStorageEviction } from './eviction/local-storage-eviction.ts';
import { PodEvictions } from './eviction/pod-evictions.ts';
import { PodRemains } from './gc/pod-remains.ts';
import { PodRemover } from './gc/pod-remover.ts';
import { Housekeeping } from './housekeeping.ts';
import { contentStoreProgress } from './images/content-store.ts';
import { ImageManager } from './images/image-manager.ts';
import { crashLoopBackOffLimits } from './kuberuntime/crash-loop-back-off.ts';
import { KuberuntimeManager } from './kuberuntime/kuberuntime-manager.ts';
import { type ReadTerminationMessage, RuntimePods } from './kuberuntime/runtime-pods.ts';
import type { RuntimePodStatus } from './kuberuntime/runtime-pod-status.ts';
import { PodAdmission } from './lifecycle/pod-admission.ts';
import type { NodeConfig } from './node-config.ts';
import { EventWatch } from './pleg/event-watch.ts';
import { GenericPleg } from './pleg/generic-pleg.ts';
import { PodCache } from './pleg/pod-cache.ts';
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
import type { EngineSnapshot, EngineView, PodSnapshot } from './snapshot.ts';
import { ReasonCache } from './status/reason-cache.ts';
import { StatusManager } from './status/status-manager.ts';
import { SyncHandlers } from './sync-handlers.ts';
import { runSyncLoop, type SyncLoopInput } from './sync-loop.ts';
import { unlessAborted } from './unless-aborted.ts';
import { UserNamespaces } from './userns/user-namespaces.ts';
import { VolumeManager } from './volumes/volume-manager.ts';

/** In these a pod takes no room any more. */
const endStates: ReadonlySet<string> = new Set(['terminated', 'finished', 'removed']);

/** How long a stop waits for syncs in flight. */
const stopTimeoutMs = 2000;

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
  maxParallelImagePulls: number;
  readTerminationMessage: ReadTerminationMessage;
  /** Asks a gRPC server for its health, for probes. */
  checkHealth: CheckHealth;
  clock: Clock;
  /** Uniform in [0, 1). */
  random: () => number;
  logger: Logger;
}

/**
 * The engine: builds its parts, runs them until it is told to stop, and shows what it does. Stopping leaves every
 * container running. kubelet: kubelet.go Kubelet
 */
export class Kubelet implements EngineView {
  private readonly deps: KubeletDeps;
  private readonly events: EventBus;
  private readonly inputs = new AsyncQueue<SyncLoopInput>();
  private readonly configObjects = new ConfigObjects();
  private readonly config: ConfigReader;
  private readonly podManager = new PodManager();
  private readonly cache = new PodCache();
  private readonly pleg: GenericPleg;
  private readonly eventWatch: EventWatch;
  private readonly runtimeState: RuntimeState;
  private readonly workQueue: WorkQueue;
  private readonly workers: PodWorkers;
  private readonly statusManager: StatusManager;
  private readonly podDirs: PodDirs;
  private readonly containerManager: ContainerManager;
  private readonly remains: PodRemains;
  private readonly housekeeping: Housekeeping;
  private readonly admission: PodAdmission;
  private readonly handlers: SyncHandlers;
  private readonly localStorageEviction: LocalStorageEviction;
  private readonly stopping = new AbortController();
  private readonly startedAt: number;

  constructor(deps: KubeletDeps) {
    const { clock, node, runtime, logger } = deps;
    this.deps = deps;
    this.startedAt = clock.now();
    // Every call that is under way listens to it.
    setMaxListeners(0, this.stopping.signal);
    this.events = new EventBus({ clock });
    const { emit } = this.events;
    this.config = new ConfigReader({
      sources: deps.sources,
      configObjects: this.configObjects,
      featureGates: node.featureGates,
      clock,
      emit,
      onUpdate: (update) => {
        this.inputs.push({ type: 'config', update });
      },
      onConfigObjectsChanged: (keys) => {
        this.inputs.push({ type: 'configObjects', keys });
      },
    });
    const runtimePods = new RuntimePods({ runtime, readTerminationMessage: deps.readTerminationMessage });
    this.pleg = new GenericPleg({
      runtime: runtimePods,
      cache: this.cache,
      clock,
      logger: logger.child({ component: 'pleg' }),
      onEvents: (events, status) => {
        if (events.length > 0) this.inputs.push({ type: 'pleg', events, status });
      },
    });
    this.eventWatch = new EventWatch({
      streams: deps.eventStreams,
      pleg: this.pleg,
      podUIDOf: (id, signal) => runtimePods.podUIDOf(id, signal),
      clock,
      logger: logger.child({ component: 'pleg' }),
    });
    this.runtimeState = new RuntimeState({
      runtime,
      clock,
      emit,
      plegUnhealthyBecause: () => this.pleg.unhealthyBecause(),
    });
    this.workQueue = new WorkQueue({
      clock,
      onDue: (podUID) => {
        this.inputs.push({ type: 'sync', podUID });
      },
    });
    this.housekeeping = new Housekeeping({
      clock,
      onDue: () => {
        this.inputs.push({ type: 'housekeeping' });
      },
    });
    this.statusManager = new StatusManager({ emit });
    this.podDirs = new PodDirs(node);
    const { podDirs, configObjects } = this;
    const reasonCache = new ReasonCache();
    const backOff = new BackOff(clock, crashLoopBackOffLimits(node));
    this.containerManager = new ContainerManager({
      node,
      cgroups: deps.cgroups,
      activePods: () => this.workers.activePods(),
      ownPodUIDs: () => this.podDirs.podUIDs(),
      emit,
      logger: logger.child({ component: 'container-manager' }),
    });
    const { podCgroups, qosCgroups } = this.containerManager;
    this.events.subscribe((event) => {
      if (event.type !== 'WorkerStateChanged') return;
      void qosCgroups.update();
      if (endStates.has(event.state)) this.admission.podEnded();
    });
    const podRemover = new PodRemover({ runtime, ...node });
    this.remains = new PodRemains({
      runtimePods,
      podRemover,
      podCgroups,
      podDirs,
      logger: logger.child({ component: 'gc' }),
      isKnown: (uid) => this.podManager.get(uid) !== undefined || this.workers.has(uid),
      killOrphan: (runningPod) => {
        this.workers.updatePod({ type: 'kill', runningPod });
      },
      onPodChanged: (uid) => {
        void this.relistPod(uid);
      },
    });
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
      getStatus: (uid) => this.statusManager.get(uid),
      onChange: (change) => {
        this.inputs.push({ type: 'probe', change });
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
          maxParallelImagePulls: deps.maxParallelImagePulls,
          pullProgress: contentStoreProgress(runtime),
        }),
        podDirs,
        configObjects,
        podRemover,
        userNamespaces: node.featureGates.UserNamespacesSupport
          ? new UserNamespaces({ podDirs, isSupported: () => this.runtimeState.supportsUserNamespaces })
          : undefined,
        node,
        clock,
        backOff,
        logger: logger.child({ component: 'kuberuntime' }),
      }),
      podDirs,
      volumeManager,
      statusManager: this.statusManager,
      prober,
      reasonCache,
      containerManager: this.containerManager,
      clock,
      emit,
      networkError: () => this.runtimeState.networkError,
      runtimeName: () => this.runtimeState.name,
      getPodStatus: (uid) => runtimePods.getPodStatus(uid),
      onPodChanged: this.relistAfterSync(),
      isPodGone: (uid) => this.podManager.get(uid) === undefined || this.workers.isRestartRequested(uid),
      removePod: (uid) => this.remains.removePod(uid),
    });
    this.workers = new PodWorkers({
      syncFrequencyMs: node.syncFrequencyMs,
      syncer,
      getNewerThan: (uid, newerThan, signal) => this.getNewerThan(uid, newerThan, signal),
      getCached: (uid) => this.cache.get(uid),
      enqueue: (uid, delayMs) => {
        this.workQueue.enqueue(uid, delayMs);
      },
      onNameFreed: (uid) => {
        this.workQueue.enqueue(uid, 0);
      },
      clock,
      random: deps.random,
      logger: logger.child({ component: 'pod-workers' }),
      emit,
    });
    const evictions = new PodEvictions({ workers: this.workers, statusManager: this.statusManager, emit, clock });
    this.localStorageEviction = new LocalStorageEviction({
      pods: () => this.workers.pods().filter(({ metadata }) => !this.workers.isPodTerminationRequested(metadata.uid)),
      volumeManager,
      evict: (pod, message) => {
        evictions.evict(pod, message);
      },
      clock,
      logger: logger.child({ component: 'eviction' }),
    });
    this.admission = this.buildAdmission();
    this.handlers = new SyncHandlers({
      podManager: this.podManager,
      workers: this.workers,
      statusManager: this.statusManager,
      prober,
      runtimeName: () => this.runtimeState.name,
      reasonCache,
      events: this.events,
      backOff,
      evictions,
      remains: this.remains,
      sourceIds: this.config.sourceIds,
      runtimePods: () => this.pleg.pods(),
      relistPod: (uid) => this.relistPod(uid),
      housekeeping: this.housekeeping,
      admission: this.admission,
      leaveOrphans: deps.leaveOrphans,
    });
  }

  /** Runs until the signal is aborted, then waits a moment for the syncs in flight to end. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => {
      this.stopping.abort(signal.reason);
    };
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const stopped = this.stopping.signal;
    this.handlers.adopt(await this.podDirs.podUIDs());
    await this.containerManager.start();
    if (signal.aborted) return;
    this.housekeeping.start();
    const parts = [
      this.runtimeState.run(stopped),
      this.pleg.run(stopped),
      this.eventWatch.run(stopped),
      this.config.run(stopped),
      ...(this.deps.node.localStorageCapacityIsolation ? [this.localStorageEviction.run(stopped)] : []),
      this.loop(stopped),
    ];
    try {
      await Promise.all(parts);
    } catch (error) {
      // One part that ends takes the others along; ending because we were told to is no error.
      if (!stopped.aborted) {
        this.stopping.abort(error);
        throw error;
      }
    } finally {
      signal.removeEventListener('abort', stop);
      this.housekeeping.stop();
      this.workQueue.stop();
      await Promise.allSettled(parts);
      await this.finishSyncs();
    }
  }

  snapshot(): EngineSnapshot {
    const { node, endpoint } = this.deps;
    const { lastRelistAt, lastRelistMs } = this.pleg;
    const error = this.runtimeState.error();
    const { networkError, name, version } = this.runtimeState;
    return {
      nodeName: node.nodeName,
      startedAt: this.startedAt,
      runtime: {
        endpoint: endpoint.endpoint,
        chosenBecause: endpoint.because,
        name,
        version,
        ...(error === undefined ? {} : { error }),
        ...(networkError === undefined ? {} : { networkError }),
      },
      pleg: {
        mode: this.eventWatch.live === undefined ? 'generic' : 'evented',
        ...(lastRelistAt === undefined ? {} : { lastRelistAt }),
        ...(lastRelistMs === undefined ? {} : { lastRelistMs }),
      },
      sources: this.config.snapshot(),
      pods: this.knownPods()
        .map((pod) => this.podSnapshot(pod))
        .sort((a, b) => (sortKey(a.pod) < sortKey(b.pod) ? -1 : 1)),
    };
  }

  subscribe(listener: (event: KubeletEvent) => void): () => void {
    return this.events.subscribe(listener);
  }

  /** Undefined while the sync loop works. */
  unhealthyBecause(): string | undefined {
    return this.runtimeState.error();
  }

  /** Stops and removes every declared pod, as if all manifests went; resolves when nothing of them is left. */
  async removeAllPods(): Promise<void> {
    const updates = this.config.declareNothing();
    const pods = [...updates.flatMap((update) => update.pods), ...this.workers.pods()];
    const uids = [...new Set(pods.map(({ metadata }) => metadata.uid))];
    const ended = this.workersEnded(uids.filter((uid) => this.workers.snapshot(uid).state !== 'finished'));
    for (const update of updates) this.inputs.push({ type: 'config', update });
    await ended;
    // Pods that were finished before had kept their remains.
    await Promise.all(uids.map((uid) => this.remains.removeUnworked(uid)));
  }

  private buildAdmission(): PodAdmission {
    const { node, clock } = this.deps;
    const { workers, podManager, statusManager, events } = this;
    return new PodAdmission({
      // Nothing changes it while the engine runs: evictions, and shutdowns of the node, are to come.
      node: () => ({ ...node, name: node.nodeName, taints: [], pressures: [], isShuttingDown: false }),
      activePods: () => workers.activePods().filter(({ metadata }) => podManager.get(metadata.uid) !== undefined),
      isRunning: (uid) => this.pleg.pods().some((pod) => pod.uid === uid && isPodRunning(pod)),
      killPod: (pod) => {
        workers.updatePod({ type: 'kill', pod, killPodOptions: { evict: true } });
        // It comes back when there is room for it again.
        workers.updatePod({ type: 'create', pod });
      },
      statusManager,
      clock,
      emit: events.emit,
      onDue: () => {
        this.inputs.push({ type: 'admission' });
      },
    });
  }

  private loop(stopped: AbortSignal): Promise<void> {
    const { clock, logger } = this.deps;
    return runSyncLoop(
      {
        inputs: this.inputs,
        handler: this.handlers,
        clock,
        logger: logger.child({ component: 'sync-loop' }),
        runtimeError: () => this.runtimeState.error(),
      },
      stopped,
    );
  }

  private relistPod(uid: string): Promise<void> {
    return this.pleg.relistPod(uid, this.stopping.signal);
  }

  /** One look after the sync that changed a pod is news enough for the next sync too. */
  private relistAfterSync(): (uid: string) => void {
    const changedPods = new Set<string>();
    this.events.subscribe((event) => {
      if (event.type === 'SyncFinished' && changedPods.delete(event.pod.uid)) void this.relistPod(event.pod.uid);
    });
    return (uid) => {
      changedPods.add(uid);
    };
  }

  private async getNewerThan(uid: string, newerThan: number, signal: AbortSignal): Promise<RuntimePodStatus> {
    const removal = this.remains.removalOf(uid);
    if (removal !== undefined) {
      // Declared again while the remains of its last run go: those must not be taken for the new one.
      await unlessAborted(removal, signal);
      return this.getNewerThan(uid, this.deps.clock.monotonic(), signal);
    }
    const status = this.cache.getNewerThan(uid, newerThan, signal);
    if (!this.cache.hasNewerThan(uid, newerThan)) void this.relistPod(uid);
    return status;
  }

  /** Resolves once the worker of each of these pods finished or is gone. */
  private workersEnded(uids: readonly string[]): Promise<void> {
    const left = new Set(uids);
    if (left.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const done = this.subscribe((event) => {
        if (event.type !== 'WorkerStateChanged' || (event.state !== 'finished' && event.state !== 'removed')) return;
        left.delete(event.pod.uid);
        if (left.size > 0) return;
        done();
        resolve();
      });
    });
  }

  /** Syncs in flight may come to an end; what takes longer is cut as if we were killed, and done by the next start. */
  private async finishSyncs(): Promise<void> {
    const finished = new AbortController();
    const bound = this.deps.clock.sleep(stopTimeoutMs, { signal: finished.signal }).catch(() => undefined);
    const syncs = this.workers.drain(new Error('kubelet-ts is stopping'));
    await Promise.race([Promise.allSettled([syncs, this.remains.settled()]), bound]);
    finished.abort();
  }

  /** Declared pods, and those whose manifest went while they still terminate. */
  private knownPods(): Pod[] {
    const declared = this.podManager.pods();
    const uids = new Set(declared.map(({ metadata }) => metadata.uid));
    return [...declared, ...this.workers.pods().filter(({ metadata }) => !uids.has(metadata.uid))];
  }

  private podSnapshot(pod: Pod): PodSnapshot {
    const { uid } = pod.metadata;
    const status = this.statusManager.get(uid) ?? pod.status;
    const nextSyncAt = this.workQueue.dueAt(uid);
    const rejection = this.admission.rejectionOf(uid);
    return {
      pod: status === undefined ? pod : { ...pod, status },
      source: pod.metadata.annotations?.[configAnnotations.source] === 'http' ? 'http' : 'file',
      worker: { ...this.workers.snapshot(uid), ...(nextSyncAt === undefined ? {} : { nextSyncAt }) },
      ...(rejection === undefined ? {} : { rejection }),
      events: this.events.eventsOf(uid),
    };
  }
}

const sortKey = ({ metadata: { namespace, name } }: Pod): string => `${namespace}/${name}`;

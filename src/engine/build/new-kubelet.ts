import type { Pod } from '../../api/types.ts';
import { isReadyOrDone } from '../../api/values/pod-conditions.ts';
import { podFullName, type PodName } from '../../api/values/pod-names.ts';
import { AsyncQueue } from '../../flow/async-queue.ts';
import { WallClockHistory } from '../../flow/wall-clock-history.ts';
import type { KubeletBase, KubeletDeps } from './kubelet-deps.ts';
import { knownRevisions } from '../sync-loop/known-revisions.ts';
import { PodRemover } from '../kuberuntime/pod-remover.ts';
import { newCollectors } from './new-collectors.ts';
import { newEviction } from './new-eviction.ts';
import { type Lifecycle, newLifecycle } from './new-lifecycle.ts';
import { type NodeResources, newNodeResources } from './new-node-resources.ts';
import { newPluginSockets } from './new-plugin-sockets.ts';
import { newPodState, type PodState } from './new-pod-state.ts';
import { newPodSyncer, type PodSyncing } from './new-pod-syncer.ts';
import { newPodWorkers, type Workers } from './new-pod-workers.ts';
import { newRuntimeWatch } from './new-runtime-watch.ts';
import { newSources, type Sources } from './new-sources.ts';
import { newVolumes } from './new-volumes.ts';
import { PodOperations } from '../operations/pod-operations.ts';
import { PodRevisions } from '../operations/pod-revisions.ts';
import { runsAsDeclared } from '../sync-loop/outdated-containers.ts';
import { Redactor } from '../redaction/redactor.ts';
import { dropPull } from '../pod-start/pod-entry.ts';
import { SyncHandlers } from '../sync-loop/sync-handlers.ts';
import { UndeclaredPods } from '../sync-loop/undeclared-pods.ts';
import { WorkloadOperations } from '../workloads/workload-operations.ts';
import { Workloads } from '../workloads/workloads.ts';
import { EventBus } from '../view/event-bus.ts';
import { reasons } from '../view/reasons.ts';
import { WallClockStore } from '../host/wall-clock-store.ts';

/**
 * Creates and connects all components of the engine, one group after the other. A builder receives the components built
 * before it, and functions that reach the later ones. No component acts yet. Aborting `stopped` stops their work.
 * kubelet: kubelet.go NewMainKubelet
 */
export function newKubelet(deps: KubeletDeps, stopped: AbortSignal) {
  const base = newBase(deps, stopped);
  const { clock, emit, events, inputs, node, redactor, wallClock } = base;
  const wallClockStore = new WallClockStore({
    rootDir: node.rootDir,
    wallClock,
    clock,
    logger: deps.logger.child({ component: 'clock' }),
    onSet: () => {
      // Their statuses show times.
      for (const { metadata } of podManager.pods()) inputs.push({ type: 'sync', podUID: metadata.uid });
    },
  });

  const state: PodState = newPodState(base, {
    isStopped: (pod) => operations.isStopped(pod),
    workerState: (uid) => workers.snapshot(uid).state,
  });
  const { podManager, statusManager, records } = state;
  const keepsVolumes = (pod: Pod): boolean => handlers.keepsVolumes(pod);
  const sources: Sources = newSources(base, {
    revisionToRun: (declared, from) => revisions.revisionToRun(declared, from),
    decideWorkloads: (...declared) => workloads.decide(...declared),
    knownRevisions: (pod, previous) => knownRevisions({ ...state, workers, keepsVolumes }, pod, previous),
  });
  const { config } = sources;
  const runtime = newRuntimeWatch(base, state);
  const { cache, pleg, runtimeState } = runtime;
  const podRemover = new PodRemover({ ...node, runtime: deps.runtime, foreignPods: deps.foreignPods });

  const activePods = (): Pod[] => workers.activePods();
  const resources: NodeResources = newNodeResources(base, state, {
    activePods,
    sourcesReady: () => handlers.hasSeenAllSources,
    onDevices: (change) => {
      lifecycle.starter.recordChange('devices');
      // Refusing one pod makes no room for others. Otherwise two refused pods would be retried in turn forever.
      if (change === 'change') lifecycle.starter.recordChange('room');
    },
    onFreedDevices: (podUIDs) => {
      lifecycle.starter.retry(podUIDs);
    },
  });
  const volumes = newVolumes(base, state, sources);
  const sockets = newPluginSockets(base, { ...state, ...resources, ...volumes, activePods });

  const syncing: PodSyncing = newPodSyncer(
    base,
    { ...state, ...sources, ...runtime, ...resources, ...volumes, podRemover },
    {
      restarting: (pod) => operations.restarting(pod),
      onPodChanged: (uid) => {
        working.podRefresher.changed(uid);
      },
      isUndeclared: (uid) => podManager.get(uid) === undefined || workers.isRestartRequested(uid),
      keepsVolumes,
      areSourcesSeen: () => handlers.hasSeenAllSources,
      garbage: () => working.garbage,
      workers: () => working.workers,
    },
  );
  const { imageManager, syncer } = syncing;
  const working: Workers = newPodWorkers(
    base,
    { ...state, ...sources, ...runtime, ...resources, ...volumes, ...syncing, podRemover },
    { reservedPods: () => lifecycle.starter.reservedPods() },
  );
  const { workers, podRefresher } = working;

  const stats = deps.newStats({
    deps,
    podStatuses: () => pleg.pods().map(({ uid }) => cache.get(uid)),
    podOf: (uid) => podManager.get(uid) ?? workers.pods().find(({ metadata }) => metadata.uid === uid),
    volumeManager: volumes.volumeManager,
    podDirs: state.podDirs,
  });
  const collectors = newCollectors(
    base,
    { ...state, ...runtime, ...syncing, ...working, podRemover },
    { areSourcesSeen: () => handlers.hasSeenAllSources },
  );
  const eviction = newEviction(
    base,
    { ...state, ...volumes, ...working, ...collectors, stats },
    {
      onRelieved: () => {
        lifecycle.starter.recordChange('node');
      },
    },
  );
  const lifecycle: Lifecycle = newLifecycle(
    base,
    { ...state, ...sources, ...runtime, ...resources, ...syncing, ...working, ...eviction },
    { actions: () => handlers.launcher, isStopped: (pod) => operations.isStopped(pod) },
  );

  const isAsDeclared = (pod: Pod): boolean => runsAsDeclared({ ...parts, handlers }, pod);
  const declaredPod = (pod: PodName): Pod | undefined => podManager.getByFullName(podFullName(pod));
  const isWellAsDeclared = (pod: Pod): boolean =>
    isReadyOrDone(statusManager.get(pod.metadata.uid)) && isAsDeclared(pod);
  const redeclare = (): void => {
    config.redeclare();
  };
  const revisions: PodRevisions = new PodRevisions({
    records,
    declaredPod,
    isWellAsDeclared,
    isRecreated: (pod) => workloads.isRecreated(pod),
    redeclare,
    wallClock,
    clock,
    emit,
  });
  const workloads = new Workloads({
    records: state.workloadRecords,
    accepted: (pod) => revisions.accepted(pod),
    declaredPod,
    knownPods: () => [...podManager.pods(), ...workers.pods(), ...state.appliedRevisions.pods()],
    statusOf: ({ metadata: { uid } }) => {
      const status = statusManager.get(uid);
      const startsLater = status?.reason === reasons.stopped || lifecycle.starter.isHeldBack(uid);
      return status && startsLater ? {} : status;
    },
    isWellAsDeclared,
    rejectionOf: (uid) => lifecycle.starter.rejectionOf(uid),
    dropRevisions: (pod) => {
      revisions.removed(pod);
    },
    requestDecision: () => {
      inputs.push({ type: 'workloads' });
    },
    since: (stamp) => wallClock.since(stamp),
    emit,
    clock,
  });
  const workloadOperations = new WorkloadOperations({
    records: state.workloadRecords,
    declared: (workload) => workloads.find(workload),
    firstPod: (workload) => workloads.firstPod(workload),
    accepted: (pod) => revisions.accepted(pod),
    podRecord: (pod) => records.of(pod),
    decideWorkloads: () => {
      config.decideWorkloads();
    },
    clock,
  });
  events.subscribe((event) => {
    workloads.observe(event);
  });
  const operations: PodOperations = new PodOperations({
    records,
    revisions,
    declaredPod,
    declarers: (pod) => config.declarers(pod),
    isTerminating: (uid) => workers.isPodTerminationRequested(uid) && !workers.isPodKnownTerminated(uid),
    podStatus: (uid) => cache.get(uid),
    relistPod: (uid) => podRefresher.relist(uid),
    runtimeWaitsBecause: () => runtimeState.waitsBecause(),
    hasEnded: (uid) => statusManager.get(uid)?.reason !== reasons.stopped && workers.snapshot(uid).state === 'finished',
    runAnew: (uid) => state.statusRecords.runAnew(uid),
    redeclare,
    stopPod: (podUID) => {
      inputs.push({ type: 'operation', operation: 'stop', podUID });
    },
    startPod: (podUID) => {
      inputs.push({ type: 'operation', operation: 'start', podUID });
    },
    retryPod: (pod) => {
      // The next revision may wait for its images while the earlier one runs.
      for (const entry of podManager.revisions(podFullName(pod))) {
        const podUID = entry.pod.metadata.uid;
        imageManager.retry(podUID);
        syncer.retry(podUID);
        dropPull(entry);
        inputs.push({ type: 'sync', podUID });
      }
    },
    clock,
  });

  const isNameDeclared = (fullName: string): boolean => config.declares(fullName);
  const undeclaredPods = new UndeclaredPods({
    ...state,
    runtimePods: () => pleg.pods(),
    isNameDeclared,
    isOfWorkload: (pod) => workloads.ownsPod(pod),
    declaresAny: () => config.declaresAny(),
    isConfirmed: () => deps.prunes || config.declaresNothing(),
    emit,
    logger: deps.logger.child({ component: 'gc' }),
  });

  const parts = {
    clock,
    inputs,
    redactor,
    events,
    wallClockStore,
    ...state,
    ...sources,
    ...runtime,
    ...resources,
    ...sockets,
    ...syncing,
    ...working,
    stats,
    ...collectors,
    ...eviction,
    ...lifecycle,
    revisions,
    operations,
    workloads,
    workloadOperations,
    undeclaredPods,
  };
  const handlers: SyncHandlers = new SyncHandlers({
    ...parts,
    runtimeName: () => runtimeState.name,
    sourceIds: config.sourceIds,
    runtimePods: () => pleg.pods(),
    runtimePod: (uid) => pleg.runtimePod(uid),
    relistPod: (uid) => podRefresher.relist(uid),
    isNameDeclared,
    declaresElsewhere: (pod, sourceId) => config.declaresElsewhere(pod, sourceId),
    decideWorkloads: () => {
      config.decideWorkloads();
    },
    leaveOrphans: deps.leaveOrphans,
  });
  return { ...parts, handlers };
}

/** The components of the engine. */
export type KubeletParts = ReturnType<typeof newKubelet>;

function newBase(deps: KubeletDeps, stopped: AbortSignal): KubeletBase {
  const { clock, faults, secrets } = deps;
  const redactor = new Redactor({ secrets });
  const events = new EventBus({ clock, redactor, faults });
  const { emit } = events;
  return { ...deps, stopped, redactor, events, emit, inputs: new AsyncQueue(), wallClock: new WallClockHistory(clock) };
}

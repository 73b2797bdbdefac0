import { alwaysRestarts } from '../../api/values/restart-rules.ts';
import { configObjectReferences } from '../../api/values/config-object-references.ts';
import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import type { BackOff } from '../../flow/back-off.ts';
import type { PodUpdate, SourceId } from '../config/pod-config.ts';
import type { EventBus } from '../view/event-bus.ts';
import type { PodEvictions } from '../eviction/pod-evictions.ts';
import type { PodGarbage } from '../gc/pod-garbage.ts';
import { sourceOf, type SourceName } from '../../api/values/config-annotations.ts';
import type { ContainerEnd } from '../view/events.ts';
import type { Housekeeping } from './housekeeping.ts';
import type { ImageManager } from '../images/image-manager.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { PodLifecycleEvent } from '../container/pod-lifecycle-event.ts';
import type { RuntimePod } from '../container/runtime-pod.ts';
import type { ProbeChange, ProberManager } from '../prober/prober-manager.ts';
import type { PodOperations } from '../operations/pod-operations.ts';
import type { PodRevisions } from '../operations/pod-revisions.ts';
import type { InPlaceUpdates } from '../pod-start/in-place-updates.ts';
import type { PodManager } from '../pod-start/pod-manager.ts';
import { PodLauncher } from '../pod-start/pod-launcher.ts';
import { PodReplacements } from '../pod-start/pod-replacements.ts';
import type { PodStarter } from '../pod-start/pod-starter.ts';
import { podFullName, podRef } from '../../api/values/pod-names.ts';
import type { KubeletPodSyncer } from './pod-syncer.ts';
import type { PodWorkers } from '../pod-workers/pod-workers.ts';
import type { ReasonCache } from '../status/reason-cache.ts';
import type { StatusManager } from '../status/status-manager.ts';
import type { StatusRecords } from '../status/status-records.ts';
import type { ServiceNames } from '../service-names/service-names.ts';
import type { SyncHandler } from './sync-loop.ts';
import type { UndeclaredRecords } from '../gc/undeclared-records.ts';
import type { UndeclaredPods } from './undeclared-pods.ts';

interface Deps {
  podManager: PodManager;
  workers: PodWorkers;
  statusManager: StatusManager;
  statusRecords: StatusRecords;
  prober: ProberManager;
  /** Scheme of container ids. */
  runtimeName: () => string;
  reasonCache: ReasonCache;
  syncer: Pick<KubeletPodSyncer, 'reportKeptClaims' | 'retry'>;
  events: EventBus;
  backOff: BackOff;
  imageManager: Pick<ImageManager, 'forgetFailures'>;
  serviceNames: Pick<ServiceNames, 'update'>;
  evictions: PodEvictions;
  garbage: PodGarbage;
  undeclaredRecords: Pick<UndeclaredRecords, 'record' | 'declared'>;
  undeclaredPods: UndeclaredPods;
  /** Ids of all sources. */
  sourceIds: readonly SourceId[];
  /** The pods in the runtime's last listing. */
  runtimePods: () => RuntimePod[];
  /** The pod with this UID in the runtime's last listing. */
  runtimePod: (uid: string) => RuntimePod | undefined;
  relistPod: (uid: string) => Promise<void>;
  housekeeping: Housekeeping;
  starter: PodStarter;
  inPlaceUpdates: InPlaceUpdates;
  operations: Pick<PodOperations, 'isStopped' | 'review'>;
  revisions: Pick<PodRevisions, 'review' | 'removed' | 'retainDeclared'>;
  clock: Pick<Clock, 'now'>;
  /** True if a source currently declares a pod with this full name. Its update may not be handled yet. */
  isNameDeclared: (fullName: string) => boolean;
  /** If true, keeps pods of an earlier agent, except earlier revisions of declared pods. */
  leaveOrphans: boolean;
}

/** Handles the inputs of the sync loop with requests to the pod workers. kubelet: kubelet.go HandlePod… */
export class SyncHandlers implements SyncHandler {
  /** Ids of the sources whose first list was handled. */
  private readonly sourcesSeen = new Set<string>();
  readonly replacements: PodReplacements;
  readonly launcher: PodLauncher;

  constructor(private readonly deps: Deps) {
    this.replacements = new PodReplacements({
      ...deps,
      mayBeDeclared: (uid) => this.mayBeDeclared(uid),
      removePod: (pod, source) => {
        this.removePod(pod, source);
      },
    });
    this.launcher = new PodLauncher({ ...deps, replacements: this.replacements });
  }

  /** Sets the pods of an earlier agent. Call it before the first input. */
  adopt(earlierPods: readonly string[]): void {
    this.replacements.adopt(earlierPods);
    if (!this.deps.leaveOrphans) this.deps.undeclaredPods.adopt(earlierPods);
    this.launcher.adopt(earlierPods);
  }

  /** True once the first list of every source is handled. kubelet: config/config.go SeenAllSources */
  get hasSeenAllSources(): boolean {
    return this.unreadSources().length === 0;
  }

  /** True if the pod is no longer declared but runs until its next revision may start. */
  isOutgoing(pod: Pod): boolean {
    return this.replacements.isOutgoing(pod);
  }

  /** True if an operator stopped the declared pod, and it will restart with the data in its volumes. */
  keepsVolumes({ metadata: { uid } }: Pod): boolean {
    const entry = this.deps.podManager.entry(uid);
    if (entry === undefined || !alwaysRestarts(entry.pod.spec)) return false;
    return this.deps.operations.isStopped(entry.pod) || entry.startsAgain === true;
  }

  /** kubelet: kubelet.go HandlePodAdditions, HandlePodUpdates, HandlePodRemoves, HandlePodReconcile */
  handleConfig({ op, pods, source, sourceId }: PodUpdate): void {
    const { podManager, workers, starter, housekeeping, inPlaceUpdates } = this.deps;
    const { emit } = this.deps.events;
    // An in-place change may have to wait. The current revision stays declared until then.
    const inOrder = starter.inOrder(pods);
    const ordered = op === 'REMOVE' ? inOrder : inPlaceUpdates.declared(inOrder);
    // Do this first, so that a pod finds the pods of the same list that it waits for, in any order.
    if (op !== 'REMOVE') for (const pod of ordered) this.setDeclared(pod);
    for (const pod of ordered) {
      switch (op) {
        case 'ADD':
          emit({ type: 'PodAdded', pod: podRef(pod), source });
          starter.start(pod);
          break;
        case 'UPDATE':
        case 'DELETE':
          emit({ type: 'PodUpdated', pod: podRef(pod), source });
          if (this.mustStart(pod)) starter.start(pod);
          else workers.updatePod({ type: 'update', pod });
          break;
        case 'REMOVE':
          this.replacements.retire(podManager.get(pod.metadata.uid) ?? pod, source);
          break;
        case 'RECONCILE':
          break;
      }
    }
    if (this.sourcesSeen.has(sourceId)) return;
    this.sourcesSeen.add(sourceId);
    // Starts the work that waited for this source.
    housekeeping.request();
    if (!this.hasSeenAllSources) return;
    this.keepUndeclared();
    this.deps.revisions.retainDeclared();
  }

  private setDeclared(pod: Pod): void {
    const { podManager, undeclaredRecords, undeclaredPods } = this.deps;
    // The pod may have been running undeclared.
    podManager.setPod(pod).outgoing = undefined;
    undeclaredRecords.declared(pod.metadata.uid);
    undeclaredPods.drop(pod.metadata.uid);
  }

  /**
   * Keeps pods of an earlier agent running until an operator confirms their stop. Housekeeping starts their workers.
   */
  private keepUndeclared(): void {
    for (const pod of this.deps.undeclaredPods.decide()) this.replacements.keep(pod);
  }

  /**
   * Syncs the pods that use these objects: updates their volumes and retries failed starts. Does not change variables
   * of running containers. Retries the admission of pods that wait for a class.
   */
  handleConfigObjects(keys: readonly string[]): void {
    this.deps.starter.recordChange('order');
    const changed = new Set(keys);
    if (keys.some((key) => key.startsWith('Service/'))) this.deps.serviceNames.update();
    const areVolumesNew = keys.some((key) => /^(PersistentVolume|CSIDriver)\//.test(key));
    for (const pod of this.deps.podManager.pods()) {
      const isConcerned = configObjectReferences(pod).some((key) => changed.has(key));
      // Any claim may be waiting for this volume or driver.
      if (isConcerned || (areVolumesNew && usesClaims(pod))) this.handlePodSync(pod.metadata.uid);
    }
  }

  handlePlegEvents(events: PodLifecycleEvent[], status: RuntimePodStatus): void {
    let worthSyncing = false;
    const containers = new Map(status.containerStatuses.map((container) => [container.id, container]));
    const died = new Set<string>();
    for (const { type, id, podUID, containerName } of events) {
      const container = containers.get(id);
      this.deps.events.emit({
        type,
        id,
        pod: { uid: podUID, name: status.name, namespace: status.namespace },
        ...(containerName === undefined ? {} : { containerName }),
        ...(container?.state === 'exited' ? { exitCode: container.exitCode, end: endOf(container) } : {}),
      });
      worthSyncing ||= type !== 'ContainerRemoved';
      if (type === 'ContainerDied' && container !== undefined) died.add(container.name);
    }
    for (const containerName of died) this.deps.garbage.removeSurplus(status, containerName);
    if (worthSyncing) this.handlePodSync(status.uid);
  }

  handlePodSync(podUID: string): void {
    this.deps.inPlaceUpdates.proceed();
    const pod = this.deps.podManager.get(podUID);
    // A pod that was not admitted gets no worker.
    if (pod === undefined || this.deps.starter.isWaiting(podUID)) return;
    if (this.mustStart(pod)) this.deps.starter.start(pod);
    else this.deps.workers.updatePod({ type: 'sync', pod });
  }

  handleAdmission(): void {
    this.deps.inPlaceUpdates.proceed();
    const { podManager, starter } = this.deps;
    for (const uid of starter.takeDue()) {
      const pod = podManager.get(uid);
      if (pod !== undefined) starter.start(pod);
    }
  }

  handleOperation(operation: 'stop' | 'start', podUID: string): void {
    const entry = this.deps.podManager.entry(podUID);
    if (entry === undefined) return;
    entry.startsAgain = false;
    if (operation === 'stop') this.deps.starter.keepStopped(entry.pod);
    else this.launcher.startStopped(entry);
  }

  /** Applies readiness and startup to the status at once. The next sync does the rest. */
  handleProbeChange({ podUID, type, containerID, result }: ProbeChange): void {
    const pod = this.deps.podManager.get(podUID);
    if (pod === undefined || (type === 'liveness' && result !== 'failure')) return;
    const id = `${this.deps.runtimeName()}://${containerID}`;
    const { statusManager } = this.deps;
    if (type === 'readiness') statusManager.setContainerReadiness(pod, id, result === 'success');
    if (type === 'startup') statusManager.setContainerStartup(pod, id, result === 'success');
    this.handlePodSync(podUID);
  }

  /** kubelet: kubelet_pods.go HandlePodCleanups */
  handlePodCleanups(): void {
    this.deps.housekeeping.taken();
    const { podManager, workers, statusManager, prober, reasonCache, events, backOff, evictions, garbage, starter } =
      this.deps;
    this.deps.operations.review();
    const isUpdateDue = this.deps.revisions.review();
    if (this.hasSeenAllSources) this.keepUndeclared();
    for (const uid of this.deps.undeclaredPods.drainConfirmed()) {
      const pod = podManager.get(uid);
      if (pod !== undefined) this.replacements.retire(pod, sourceOf(pod));
    }
    const desired = new Set(podManager.pods().map((pod) => pod.metadata.uid));

    // Step 0: restart pods that were started while they stopped, and evicted pods whose back-off is over. Remove the
    // containers and data of evicted pods.
    for (const entry of podManager.entriesWith('startsAgain')) {
      const { pod } = entry;
      const { uid } = pod.metadata;
      if (workers.has(uid) && workers.snapshot(uid).state !== 'finished') continue;
      entry.startsAgain = false;
      // The pod was stopped after the start was requested.
      this.deps.syncer.retry(uid);
      if (workers.has(uid)) workers.updatePod({ type: 'create', pod });
    }
    evictions.gc();
    for (const pod of evictions.takeDue()) {
      garbage.startFreshRemoval(pod.metadata.uid);
      workers.updatePod({ type: 'create', pod });
    }

    // Step 1: stop workers of pods that are no longer declared, and drop finished ones.
    const working = workers.syncKnownPods(desired);

    // Step 2: drop pods that are neither declared nor have a worker.
    const known = new Set([...desired, ...working.keys()]);
    statusManager.retain(known);
    this.deps.statusRecords.retain(known);
    prober.retain(known);
    reasonCache.retain(known);
    events.retain(known);

    // Step 3: start declared pods without a worker. They terminated under the same UID or waited for their earlier
    // revision.
    for (const pod of podManager.pods()) {
      const { uid } = pod.metadata;
      if (!working.has(uid) && !starter.isWaiting(uid)) starter.start(pod);
    }

    // Step 4: remove this agent's orphans in the runtime and on disk.
    const kept = this.deps.undeclaredPods.kept();
    const isSpared = (uid: string): boolean =>
      known.has(uid) ||
      this.mayBeDeclared(uid) ||
      this.replacements.isRunningOn(uid) ||
      this.isLeft(uid) ||
      kept.has(uid);
    garbage.startOrphanCleanUp(isSpared);
    // A finished pod may have freed resources.
    this.deps.inPlaceUpdates.proceed();
    backOff.gc();
    this.deps.imageManager.forgetFailures();

    const isPodDue = podManager.pods().some((pod) => !workers.has(pod.metadata.uid)) || evictions.areWaiting;
    const isEnding = [...working.values()].some(({ orphan }) => orphan);
    const isInPlaceDue = this.deps.inPlaceUpdates.pods().length > 0;
    if (isUpdateDue || isPodDue || isEnding || isInPlaceDue || !this.hasSeenAllSources)
      this.deps.housekeeping.scheduleSoon();
  }

  private isLeft(uid: string): boolean {
    if (!this.deps.leaveOrphans) return false;
    const orphan = this.deps.runtimePod(uid);
    return orphan === undefined || !this.deps.isNameDeclared(podFullName(orphan));
  }

  private unreadSources(): SourceId[] {
    return this.deps.sourceIds.filter(({ id }) => !this.sourcesSeen.has(id));
  }

  /**
   * True if an unread source may declare this pod of an earlier agent: a source of the same kind as the pod's. The
   * kubelet waits for every source. Here a URL that does not answer does not delay pods from files. kubelet:
   * config/config.go SeenAllSources
   */
  private mayBeDeclared(uid: string): boolean {
    const unread = this.unreadSources();
    if (unread.length === 0) return false;
    const kind = this.deps.runtimePod(uid)?.source;
    return kind === undefined || unread.some(({ source }) => source === kind);
  }

  /**
   * True if a change or sync must go through the pod's start: it was not admitted, waits, or is stopped without a
   * worker.
   */
  private mustStart(pod: Pod): boolean {
    const { starter, workers } = this.deps;
    const { uid } = pod.metadata;
    const isDown = this.deps.operations.isStopped(pod) && !workers.has(uid);
    return isDown || starter.isHeldBack(uid) || this.replacements.isReplacing(pod);
  }

  private removePod(pod: Pod, source: SourceName): void {
    const { podManager, workers, garbage, starter, events, undeclaredPods, undeclaredRecords } = this.deps;
    const { uid } = pod.metadata;
    podManager.removePod(uid);
    starter.removed(uid);
    undeclaredRecords.record(uid, 'removed');
    undeclaredPods.drop(uid);
    this.launcher.removed(uid);
    events.emit({ type: 'PodRemoved', pod: podRef(pod), source });
    if (!this.deps.isNameDeclared(podFullName(pod.metadata))) this.deps.revisions.removed(pod.metadata);
    workers.updatePod({ type: 'kill', pod });
    if (workers.snapshot(uid).state !== 'finished') return;
    // A finished pod has no worker that removes its containers and data.
    this.deps.syncer.reportKeptClaims(pod);
    garbage.startRemoval(uid);
  }
}

function endOf(container: RuntimeContainerStatus): ContainerEnd {
  const { restartCount, exitCode, reason, message, startedAt, finishedAt } = container;
  return { restartCount, exitCode, reason, message, startedAt, finishedAt };
}

const usesClaims = ({ spec }: Pod): boolean => (spec.volumes ?? []).some((volume) => volume.persistentVolumeClaim);

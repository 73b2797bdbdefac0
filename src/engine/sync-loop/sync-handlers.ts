import { alwaysRestarts } from '../../api/values/restart-rules.ts';
import { configObjectReferences } from '../../api/values/config-object-references.ts';
import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import type { PodUpdate, SourceId } from '../config/pod-config.ts';
import type { SourceName } from '../../api/values/config-annotations.ts';
import type { ContainerEnd } from '../view/events.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { PodLifecycleEvent } from '../container/pod-lifecycle-event.ts';
import type { RuntimePod } from '../container/runtime-pod.ts';
import type { ProbeChange } from '../prober/prober-manager.ts';
import type { PodOperations } from '../operations/pod-operations.ts';
import type { PodRevisions } from '../operations/pod-revisions.ts';
import type { AppliedRevisions } from '../in-place/applied-revisions.ts';
import { PodLauncher } from '../pod-start/pod-launcher.ts';
import { PodReplacements } from '../pod-start/pod-replacements.ts';
import { podFullName, podRef } from '../../api/values/pod-names.ts';
import { PodCleanups, type PodCleanupsDeps } from './pod-cleanups.ts';
import type { KubeletPodSyncer } from './pod-syncer.ts';
import { SeenSources } from './seen-sources.ts';
import type { SyncHandler } from './sync-loop.ts';
import type { UndeclaredRecords } from '../gc/undeclared-records.ts';

interface Deps extends PodCleanupsDeps {
  /** Scheme of container ids. */
  runtimeName: () => string;
  syncer: Pick<KubeletPodSyncer, 'reportKeptClaims' | 'retry'>;
  undeclaredRecords: Pick<UndeclaredRecords, 'record' | 'declared'>;
  /** Ids of all sources. */
  sourceIds: readonly SourceId[];
  /** The pods in the runtime's last listing. */
  runtimePods: () => RuntimePod[];
  relistPod: (uid: string) => Promise<void>;
  appliedRevisions: Pick<AppliedRevisions, 'of'>;
  operations: Pick<PodOperations, 'isStopped' | 'review'>;
  revisions: Pick<PodRevisions, 'review' | 'removed' | 'retainDeclared'>;
  /** Decides again which pods the workloads of all sources want. */
  decideWorkloads: () => void;
  clock: Pick<Clock, 'now'>;
  /** True if a source other than this one currently declares this very pod. */
  declaresElsewhere: (pod: Pod, sourceId: string) => boolean;
}

/** Handles the inputs of the sync loop with requests to the pod workers. kubelet: kubelet.go HandlePod… */
export class SyncHandlers implements SyncHandler {
  readonly replacements: PodReplacements;
  readonly launcher: PodLauncher;
  private readonly sources: SeenSources;
  private readonly cleanups: PodCleanups;

  constructor(private readonly deps: Deps) {
    this.sources = new SeenSources(deps);
    this.replacements = new PodReplacements({
      ...deps,
      mayBeDeclared: (uid) => this.sources.mayDeclare(uid),
      removePod: (pod, source) => {
        this.removePod(pod, source);
      },
    });
    this.launcher = new PodLauncher({ ...deps, replacements: this.replacements });
    this.cleanups = new PodCleanups({ ...deps, replacements: this.replacements, sources: this.sources });
  }

  /** Sets the pods of an earlier agent. Call it before the first input. */
  adopt(earlierPods: readonly string[]): void {
    this.replacements.adopt(earlierPods);
    if (!this.deps.leaveOrphans) this.deps.undeclaredPods.adopt(earlierPods);
    this.launcher.adopt(earlierPods);
  }

  /** True once the first list of every source is handled. */
  get hasSeenAllSources(): boolean {
    return this.sources.areAllSeen;
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
          if (!this.deps.declaresElsewhere(pod, sourceId))
            this.replacements.retire(podManager.get(pod.metadata.uid) ?? pod, source);
          break;
        case 'RECONCILE':
          break;
      }
    }
    if (!this.sources.add(sourceId)) return;
    // Starts the work that waited for this source.
    housekeeping.request();
    if (this.hasSeenAllSources) this.cleanups.decideAboutEarlier();
  }

  private setDeclared(pod: Pod): void {
    const { podManager, undeclaredRecords, undeclaredPods } = this.deps;
    // The pod may have been running undeclared.
    podManager.setPod(pod).outgoing = undefined;
    undeclaredRecords.declared(pod.metadata.uid);
    undeclaredPods.drop(pod.metadata.uid);
  }

  /**
   * Syncs the pods that use these objects: updates their volumes and retries failed starts. Does not change variables
   * of running containers. Retries the admission of pods that wait for a class.
   */
  handleConfigObjects(keys: readonly string[]): void {
    this.deps.starter.recordChange('order');
    const changed = new Set(keys);
    if (keys.some((key) => /^(Service|Endpoints|EndpointSlice)\//.test(key))) this.deps.services.update();
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

  handleWorkloads(): void {
    this.deps.decideWorkloads();
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

  handlePodCleanups(): void {
    this.cleanups.run();
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

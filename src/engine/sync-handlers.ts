import { configObjectReferences } from '../api/values/config-object-references.ts';
import type { Pod } from '../api/types.ts';
import type { BackOff } from '../flow/back-off.ts';
import type { PodUpdate, SourceId } from './config/pod-config.ts';
import type { EventBus } from './view/event-bus.ts';
import type { PodEvictions } from './eviction/pod-evictions.ts';
import type { PodRemains } from './gc/pod-remains.ts';
import type { SourceName } from '../api/values/config-annotations.ts';
import type { ContainerEnd } from './view/events.ts';
import type { Housekeeping } from './housekeeping.ts';
import type { ImageManager } from './images/image-manager.ts';
import type { ImagesAhead } from './images-ahead.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from './container/runtime-pod-status.ts';
import type { PodAdmission } from './lifecycle/pod-admission.ts';
import type { PodLifecycleEvent } from './container/pod-lifecycle-event.ts';
import type { RuntimePod } from './container/pod-records.ts';
import type { ProbeChange, ProberManager } from './prober/prober-manager.ts';
import type { PodManager } from './pod-manager/pod-manager.ts';
import { podRef } from '../api/values/pod-names.ts';
import { PodRevisions } from './pod-revisions.ts';
import type { PodWorkers } from './pod-workers/pod-workers.ts';
import type { ReasonCache } from './status/reason-cache.ts';
import type { StatusManager } from './status/status-manager.ts';
import type { StatusRecords } from './status/status-records.ts';
import type { SyncHandler } from './sync-loop.ts';

interface Deps {
  podManager: PodManager;
  workers: PodWorkers;
  statusManager: StatusManager;
  statusRecords: StatusRecords;
  prober: ProberManager;
  /** Scheme of container ids. */
  runtimeName: () => string;
  reasonCache: ReasonCache;
  events: EventBus;
  backOff: BackOff;
  imageManager: Pick<ImageManager, 'forgetFailures'>;
  evictions: PodEvictions;
  remains: PodRemains;
  /** Of all sources. */
  sourceIds: readonly SourceId[];
  /** The pods of the runtime as they were last listed. */
  runtimePods: () => RuntimePod[];
  relistPod: (uid: string) => Promise<void>;
  housekeeping: Housekeeping;
  admission: PodAdmission;
  imagesAhead: ImagesAhead;
  /** Some source has a pod of this full name now; the update that says so may still be on its way. */
  isNameDeclared: (fullName: string) => boolean;
  leaveOrphans: boolean;
}

/** What the sync loop does with its inputs: it asks the pod workers. kubelet: kubelet.go HandlePod… */
export class SyncHandlers implements SyncHandler {
  private readonly deps: Deps;
  /** Ids of the sources of which the first list was handled. */
  private readonly sourcesSeen = new Set<string>();
  private readonly revisions: PodRevisions;

  constructor(deps: Deps) {
    this.deps = deps;
    this.revisions = new PodRevisions({
      ...deps,
      mayBeDeclared: (uid) => this.mayBeDeclared(uid),
      removePod: (pod, source) => {
        this.removePod(pod, source);
      },
    });
  }

  /** Before the first input: the pods that an earlier life left. */
  adopt(earlierPods: readonly string[]): void {
    this.revisions.adopt(earlierPods);
  }

  /** True: the pod is declared no more, and runs on until its next revision may start. */
  isOutgoing(pod: Pod): boolean {
    return this.revisions.isOutgoing(pod);
  }

  /** kubelet: kubelet.go HandlePodAdditions, HandlePodUpdates, HandlePodRemoves, HandlePodReconcile */
  handleConfig({ op, pods, source, sourceId }: PodUpdate): void {
    const { podManager, workers, admission, housekeeping } = this.deps;
    const { emit } = this.deps.events;
    const ordered = admission.inOrder(pods);
    // Who waits for another pod of the same list finds it, whatever their order.
    if (op !== 'REMOVE') for (const pod of ordered) podManager.setPod(pod);
    for (const pod of ordered) {
      switch (op) {
        case 'ADD':
          emit({ type: 'PodAdded', pod: podRef(pod), source });
          this.revisions.declared(pod);
          this.startPod(pod);
          break;
        case 'UPDATE':
        case 'DELETE':
          emit({ type: 'PodUpdated', pod: podRef(pod), source });
          if (admission.isWaiting(pod.metadata.uid) || this.revisions.isHeldBack(pod)) this.startPod(pod);
          else workers.updatePod({ type: 'update', pod });
          break;
        case 'REMOVE':
          this.revisions.retire(pod, source);
          break;
        case 'RECONCILE':
          break;
      }
    }
    if (this.sourcesSeen.has(sourceId)) return;
    this.sourcesSeen.add(sourceId);
    // What waited for the sources to be read waits no longer.
    housekeeping.request();
  }

  /** Variables of running containers stay; volumes follow, and what waited for an object is tried again. */
  handleConfigObjects(keys: readonly string[]): void {
    const changed = new Set(keys);
    for (const pod of this.deps.podManager.pods()) {
      if (configObjectReferences(pod).some((key) => changed.has(key))) this.handlePodSync(pod.metadata.uid);
    }
  }

  handlePlegEvents(events: PodLifecycleEvent[], status: RuntimePodStatus): void {
    let worthSyncing = false;
    for (const { type, id, podUID, containerName } of events) {
      const container = status.containerStatuses.find((other) => other.id === id);
      this.deps.events.emit({
        type,
        id,
        pod: { uid: podUID, name: status.name, namespace: status.namespace },
        ...(containerName === undefined ? {} : { containerName }),
        ...(container?.state === 'exited' ? { exitCode: container.exitCode, end: endOf(container) } : {}),
      });
      worthSyncing ||= type !== 'ContainerRemoved';
      if (type === 'ContainerDied' && container !== undefined) this.deps.remains.removeSurplus(status, container.name);
    }
    if (worthSyncing) this.handlePodSync(status.uid);
  }

  handlePodSync(podUID: string): void {
    const pod = this.deps.podManager.get(podUID);
    // What was not admitted gets no worker, whatever happens around it.
    if (pod === undefined || this.deps.admission.isWaiting(podUID)) return;
    if (this.revisions.isHeldBack(pod)) this.startPod(pod);
    else this.deps.workers.updatePod({ type: 'sync', pod });
  }

  handleAdmission(): void {
    const { podManager, admission } = this.deps;
    for (const uid of admission.takeDue()) {
      const pod = podManager.get(uid);
      if (pod !== undefined) this.startPod(pod);
    }
  }

  /** Readiness and startup show in the status at once; what follows from them is the next sync's. */
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
    const { podManager, workers, statusManager, prober, reasonCache, events, backOff, evictions, remains, admission } =
      this.deps;
    const desired = new Set(podManager.pods().map((pod) => pod.metadata.uid));

    // Step 0: evicted pods that waited long enough start over without what they left.
    evictions.retain(desired);
    for (const uid of evictions.takeDue()) {
      const pod = podManager.get(uid);
      if (pod === undefined) continue;
      remains.startRemoval(uid);
      workers.updatePod({ type: 'create', pod });
    }

    // Step 1: workers of pods that are no longer declared end; finished ones are forgotten.
    const working = workers.syncKnownPods(desired);

    // Step 2: what belongs to pods that are neither declared nor worked on is forgotten.
    const known = new Set([...desired, ...working.keys()]);
    statusManager.retain(known);
    this.deps.statusRecords.retain(known);
    prober.retain(known);
    reasonCache.retain(known);
    events.retain(known);

    // Step 3: a declared pod without a worker gets one: it terminated under the same UID, or waited for its last revision.
    for (const pod of podManager.pods()) {
      const { uid } = pod.metadata;
      if (!working.has(uid) && !admission.isWaiting(uid)) this.startPod(pod);
    }

    // Step 4: orphans of ours in the runtime and on disk.
    const isSpared = (uid: string): boolean =>
      known.has(uid) || this.mayBeDeclared(uid) || this.revisions.isRunningOn(uid);
    if (!this.deps.leaveOrphans) remains.startOrphanCleanUp(isSpared);
    backOff.gc();
    this.deps.imageManager.forgetFailures();
  }

  /**
   * Whether a source that was not read yet may declare this pod of an earlier life: one of the kind of source that declared
   * it then. The kubelet waits for every source; here a URL that never answers holds up no pods of files.
   * kubelet: config/config.go SeenAllSources
   */
  private mayBeDeclared(uid: string): boolean {
    const unread = this.deps.sourceIds.filter(({ id }) => !this.sourcesSeen.has(id));
    if (unread.length === 0) return false;
    const kind = this.deps.runtimePods().find((pod) => pod.uid === uid)?.source;
    return kind === undefined || unread.some(({ source }) => source === kind);
  }

  /**
   * Gives the pod a worker, unless it is not admitted, or its last revision has to go first, which housekeeping looks at
   * again.
   */
  private startPod(pod: Pod): void {
    const { workers, statusManager, admission } = this.deps;
    if (!this.revisions.replaceEarlier(pod) || !admission.admit(pod)) return;
    // Its status starts over: it was not admitted until now, or its last run under this UID is over.
    if (!workers.has(pod.metadata.uid)) statusManager.forget(pod.metadata.uid);
    workers.updatePod({ type: 'create', pod });
  }

  private removePod(pod: Pod, source: SourceName): void {
    const { podManager, workers, remains, admission, events } = this.deps;
    const { uid } = pod.metadata;
    podManager.removePod(uid);
    admission.forget(uid);
    events.emit({ type: 'PodRemoved', pod: podRef(pod), source });
    workers.updatePod({ type: 'kill', pod });
    // A finished pod has no worker that would remove what it left.
    if (workers.snapshot(uid).state === 'finished') remains.startRemoval(uid);
  }
}

function endOf(container: RuntimeContainerStatus): ContainerEnd {
  const { restartCount, exitCode, reason, message, startedAt, finishedAt } = container;
  return { restartCount, exitCode, reason, message, startedAt, finishedAt };
}

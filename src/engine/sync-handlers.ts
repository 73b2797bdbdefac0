import { configObjectReferences } from '../api/config-object-references.ts';
import type { Pod } from '../api/types.ts';
import type { BackOff } from './back-off.ts';
import type { PodUpdate, SourceId } from './config/pod-config.ts';
import type { EventBus } from './event-bus.ts';
import type { PodEvictions } from './eviction/pod-evictions.ts';
import type { PodRemains } from './gc/pod-remains.ts';
import type { Housekeeping } from './housekeeping.ts';
import type { RuntimePodStatus } from './kuberuntime/runtime-pod-status.ts';
import type { PodAdmission } from './lifecycle/pod-admission.ts';
import type { PodLifecycleEvent } from './pleg/pod-lifecycle-event.ts';
import { isPodRunning, type RuntimePod } from './pleg/pod-records.ts';
import type { ProbeChange, ProberManager } from './prober/prober-manager.ts';
import type { PodManager } from './pod-manager/pod-manager.ts';
import { podRef } from './pod-names.ts';
import type { PodWorkers } from './pod-workers/pod-workers.ts';
import type { ReasonCache } from './status/reason-cache.ts';
import type { StatusManager } from './status/status-manager.ts';
import type { SyncHandler } from './sync-loop.ts';

interface Deps {
  podManager: PodManager;
  workers: PodWorkers;
  statusManager: StatusManager;
  prober: ProberManager;
  /** Scheme of container ids. */
  runtimeName: () => string;
  reasonCache: ReasonCache;
  events: EventBus;
  backOff: BackOff;
  evictions: PodEvictions;
  remains: PodRemains;
  /** Of all sources. */
  sourceIds: readonly SourceId[];
  /** The pods of the runtime as they were last listed. */
  runtimePods: () => RuntimePod[];
  relistPod: (uid: string) => Promise<void>;
  housekeeping: Housekeeping;
  admission: PodAdmission;
  leaveOrphans: boolean;
}

/** What the sync loop does with its inputs: it asks the pod workers. kubelet: kubelet.go HandlePod… */
export class SyncHandlers implements SyncHandler {
  private readonly deps: Deps;
  /** Ids of the sources of which the first list was handled. */
  private readonly sourcesSeen = new Set<string>();
  /** UIDs of the pods that an earlier life left. */
  private earlierPods: ReadonlySet<string> = new Set();

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** Before the first input: the pods that an earlier life left. */
  adopt(earlierPods: readonly string[]): void {
    this.earlierPods = new Set(earlierPods);
  }

  /** kubelet: kubelet.go HandlePodAdditions, HandlePodUpdates, HandlePodRemoves, HandlePodReconcile */
  handleConfig({ op, pods, source, sourceId }: PodUpdate): void {
    const { podManager, workers, remains, admission, housekeeping } = this.deps;
    const { emit } = this.deps.events;
    for (const pod of admission.inOrder(pods)) {
      switch (op) {
        case 'ADD':
          podManager.setPod(pod);
          emit({ type: 'PodAdded', pod: podRef(pod), source });
          this.startPod(pod);
          break;
        case 'UPDATE':
        case 'DELETE':
          podManager.setPod(pod);
          emit({ type: 'PodUpdated', pod: podRef(pod), source });
          if (admission.isWaiting(pod.metadata.uid)) this.startPod(pod);
          else workers.updatePod({ type: 'update', pod });
          break;
        case 'REMOVE':
          podManager.removePod(pod.metadata.uid);
          admission.forget(pod.metadata.uid);
          emit({ type: 'PodRemoved', pod: podRef(pod), source });
          workers.updatePod({ type: 'kill', pod });
          // A finished pod has no worker that would remove what it left.
          if (workers.snapshot(pod.metadata.uid).state === 'finished') remains.startRemoval(pod.metadata.uid);
          break;
        case 'RECONCILE':
          podManager.setPod(pod);
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
        ...(container?.state === 'exited' ? { exitCode: container.exitCode } : {}),
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
    this.deps.workers.updatePod({ type: 'sync', pod });
  }

  handleAdmission(): void {
    const { podManager, admission } = this.deps;
    for (const uid of admission.waiting()) {
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
    prober.retain(known);
    reasonCache.retain(known);
    events.retain(known);

    // Step 3: a declared pod without a worker gets one: it terminated under the same UID, or waited for its last revision.
    for (const pod of podManager.pods()) {
      const { uid } = pod.metadata;
      if (!working.has(uid) && !admission.isWaiting(uid)) this.startPod(pod);
    }

    // Step 4: orphans of ours in the runtime and on disk.
    if (!this.deps.leaveOrphans) remains.startOrphanCleanUp((uid) => known.has(uid) || this.mayBeDeclared(uid));
    backOff.gc();
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
    const predecessor = this.predecessorOf(pod);
    if (predecessor !== undefined) {
      this.stopPredecessor(predecessor);
      return;
    }
    if (!admission.admit(pod)) return;
    // Its status starts over: it was not admitted until now, or its last run under this UID is over.
    if (!workers.has(pod.metadata.uid)) statusManager.forget(pod.metadata.uid);
    workers.updatePod({ type: 'create', pod });
  }

  /** The revision of the pod that still runs from before its manifest was changed while no engine ran. */
  private predecessorOf({ metadata: { name, namespace } }: Pod): RuntimePod | undefined {
    if (this.deps.leaveOrphans) return undefined;
    return this.deps
      .runtimePods()
      .find(
        (other) =>
          other.name === name &&
          other.namespace === namespace &&
          this.earlierPods.has(other.uid) &&
          this.deps.podManager.get(other.uid) === undefined &&
          isPodRunning(other),
      );
  }

  private stopPredecessor(runningPod: RuntimePod): void {
    const { workers, relistPod, housekeeping } = this.deps;
    const { uid } = runningPod;
    if (this.mayBeDeclared(uid) || workers.has(uid)) return;
    const onTerminated = (): void => {
      void relistPod(uid).then(() => {
        housekeeping.request();
      });
    };
    workers.updatePod({ type: 'kill', runningPod, killPodOptions: { onTerminated } });
  }
}

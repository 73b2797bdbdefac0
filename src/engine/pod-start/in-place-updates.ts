import type { Container, Pod, ResourceList } from '../../api/types.ts';
import { initAndRegularContainers } from '../../api/values/containers.ts';
import type { InPlacePolicy } from '../../api/values/in-place.ts';
import { podRequests } from '../../api/values/resource-totals.ts';
import { errorMessage } from '../../errors.ts';
import { ContainerStartError } from '../container/container-start-error.ts';
import { isPodRunning, type RuntimePod } from '../container/runtime-pod.ts';
import { computePodChange } from '../in-place/compute-pod-change.ts';
import { amountOf, describeInsufficient, insufficientResources, insufficientDetails } from '../lifecycle/node-fit.ts';
import type { PodWorkers } from '../pod-workers/pod-workers.ts';
import type { Emit } from '../view/event-bus.ts';
import type { Meter } from '../view/meter.ts';
import { podEventRecorder } from '../view/event-recorder.ts';
import type { PendingResize } from '../status/generate-conditions.ts';
import { reasons, runsOnUntilThen } from '../view/reasons.ts';
import type { WaitingUpdate } from '../view/snapshot.ts';
import { computeInPlaceStart } from './compute-pod-start.ts';
import { dropPull, type PendingUpdate, type PodEntry } from './pod-entry.ts';
import type { PodManager } from './pod-manager.ts';
import { imageState, type RevisionPrepuller } from './revision-prepuller.ts';

interface Deps {
  node: { inPlace: InPlacePolicy; allocatable: ResourceList };
  podManager: PodManager;
  workers: Pick<PodWorkers, 'updatePod' | 'has' | 'activePods' | 'isPodTerminationRequested'>;
  /** The revision that the pod runs. Returns undefined if it is unknown. */
  runningRevision: (uid: string) => Pod | undefined;
  /** The pods in the runtime's last listing. */
  runtimePods: () => RuntimePod[];
  /** The pod with this UID in the runtime's last listing. */
  runtimePod: (uid: string) => RuntimePod | undefined;
  /** Pods for which others were stopped and that have not started yet. */
  reservedPods: () => Pod[];
  prepuller: RevisionPrepuller;
  meter?: Pick<Meter, 'count'> | undefined;
  emit: Emit;
  /** Called when the status of a pod must show another wait. */
  onWaitChanged: (uid: string) => void;
}

/** An in-place change from a pod's current revision. */
type Change = PendingUpdate & { current: Pod };

/**
 * Applies in-place changes of running pods. The current revision keeps running until `computeInPlaceStart` allows the
 * next one.
 *
 * INVARIANT: only the newest declared revision of a pod waits.
 */
export class InPlaceUpdates {
  constructor(private readonly deps: Deps) {}

  /**
   * Accepts declared revisions. Returns the revisions to run now, in the same order. A pod whose new revision waits
   * keeps its current one. Checks raised requests last, against the new requests of all running pods in the list.
   */
  declared(pods: readonly Pod[]): Pod[] {
    const taken = new Map<string, Pod>();
    const changes: Change[] = [];
    for (const next of pods) {
      const change = this.changeTo(next);
      if (change === undefined) taken.set(uidOf(next), next);
      else changes.push(change);
    }
    for (const { current, ...update } of changes.toSorted((a, b) => Number(a.isRaise) - Number(b.isRaise))) {
      const uid = uidOf(current);
      const entry = this.deps.podManager.setPod(current);
      entry.update = update;
      const follows = this.mayFollow(entry, update, taken);
      if (follows) clearWaiting(entry);
      taken.set(uid, follows ? update.next : current);
    }
    return pods.map((pod) => taken.get(uidOf(pod)) ?? pod);
  }

  /** Applies the waiting revisions that no longer have to wait. */
  proceed(): void {
    const { podManager, workers } = this.deps;
    for (const entry of podManager.entriesWith('update')) {
      const { update } = entry;
      if (!this.mayFollow(entry, update)) continue;
      clearWaiting(entry);
      podManager.setPod(update.next);
      workers.updatePod({ type: 'update', pod: update.next });
    }
  }

  /** Why the newest revision of a pod waits, or undefined if it does not. */
  waitOf(uid: string): WaitingUpdate | undefined {
    return this.deps.podManager.entry(uid)?.update?.shown;
  }

  /** The newest revision of a pod, if it waits. */
  nextOf(uid: string): Pod | undefined {
    return this.deps.podManager.entry(uid)?.update?.next;
  }

  /** The revisions that wait. */
  pods(): Pod[] {
    return this.deps.podManager.entriesWith('update').map(({ update }) => update.next);
  }

  /**
   * Computes the in-place change to this revision, and drops the waiting revision. Returns undefined if the pod must be
   * replaced or is not running.
   */
  private changeTo(next: Pod): Change | undefined {
    const { podManager, workers, runningRevision, node } = this.deps;
    const uid = uidOf(next);
    const entry = podManager.entry(uid);
    const current = entry?.pod ?? runningRevision(uid);
    const running = this.runningPod(uid);
    const before = entry?.update;
    if (entry !== undefined && before !== undefined) clearWaiting(entry);
    if (current === undefined || running === undefined || workers.isPodTerminationRequested(uid)) return undefined;
    const change = computePodChange(current, next, node.inPlace);
    if (change.kind !== 'inPlace') return undefined;
    const toPull = withContainers(next, (name) => change.images.includes(name) && isContainerRunning(running, name));
    return {
      current,
      next,
      isRaise: isRaise(current, next),
      toPull,
      shown: before?.shown ?? pulling(toPull ?? next),
      pending: before?.pending,
    };
  }

  /**
   * True if the revision may be applied. Otherwise shows why it waits, and starts the pulls. `taken` contains accepted
   * revisions of the same list, by UID.
   */
  private mayFollow(entry: PodEntry, update: PendingUpdate, taken: ReadonlyMap<string, Pod> = new Map()): boolean {
    const { toPull } = update;
    const images = toPull === undefined ? 'pulled' : imageState(entry, toPull);
    const misfit = this.misfitOf(entry.pod, update, taken);
    const plan = computeInPlaceStart({
      isRunning: this.runningPod(uidOf(update.next)) !== undefined,
      misfit: misfit?.shown,
      images,
    });
    if (plan.do === 'wait') this.show(update, plan.update, misfit?.pending);
    else if (update.pending !== undefined) {
      update.pending = undefined;
      this.deps.onWaitChanged(uidOf(update.next));
    }
    if (plan.do === 'pull' && toPull !== undefined) this.pull(entry, update, toPull);
    return plan.do === 'start';
  }

  /** Raised requests that do not fit on the node with the other pods. kubelet: kubelet.go canResizePod */
  private misfitOf(
    current: Pod,
    update: PendingUpdate,
    taken: ReadonlyMap<string, Pod>,
  ): { shown: WaitingUpdate; pending: PendingResize } | undefined {
    const { isRaise, next } = update;
    // Return early, because each sync of any pod checks each waiting revision.
    if (!isRaise) return undefined;
    const others = this.podsWithRoom(taken).filter((other) => uidOf(other) !== uidOf(next));
    const before = podRequests(current);
    const [missing] = insufficientResources(next, others, this.deps.node.allocatable).filter(
      ({ resource, requested }) => requested > amountOf(before, resource),
    );
    if (missing === undefined) return undefined;
    const why = describeInsufficient(missing);
    const isPossible = insufficientResources(next, [], this.deps.node.allocatable).length === 0;
    return {
      shown: {
        reason: `OutOf${missing.resource}`,
        message: `${why} (${insufficientDetails(missing)}); ${runsOnUntilThen}`,
      },
      pending: { reason: isPossible ? 'Deferred' : 'Infeasible', message: why },
    };
  }

  /**
   * The pods that use resources of the node, or for which resources are freed. Before the first list of its source, a
   * running pod has no worker.
   */
  private podsWithRoom(taken: ReadonlyMap<string, Pod>): Pod[] {
    const { workers, podManager, runningRevision, runtimePods, reservedPods } = this.deps;
    const unworked = runtimePods().filter((pod) => isPodRunning(pod) && !workers.has(pod.uid));
    return [
      ...workers
        .activePods()
        .filter((pod) => podManager.get(uidOf(pod)) !== undefined)
        .map((pod) => taken.get(uidOf(pod)) ?? pod),
      ...unworked.flatMap(({ uid }) => taken.get(uid) ?? podManager.get(uid) ?? runningRevision(uid) ?? []),
      ...reservedPods(),
    ];
  }

  private show(update: PendingUpdate, shown: WaitingUpdate, pending: PendingResize | undefined): void {
    const hasChanged = update.shown.reason !== shown.reason || update.pending?.reason !== pending?.reason;
    update.shown = shown;
    update.pending = pending;
    if (!hasChanged) return;
    const reason = pending === undefined ? reasons.replacementWaits : resizeReasons[pending.reason];
    // The only reason that no later change of the node removes.
    if (pending?.reason === 'Infeasible')
      this.deps.meter?.count('kubelet_pod_infeasible_resizes_total', {
        reason_detail: 'insufficient_node_allocatable',
      });
    podEventRecorder(this.deps.emit, update.next).warning(reason, shown.message);
    this.deps.onWaitChanged(uidOf(update.next));
  }

  private pull(entry: PodEntry, update: PendingUpdate, toPull: Pod): void {
    if (imageState(entry, toPull) === 'unknown') update.shown = pulling(toPull);
    const onFailure = (error: unknown): void => {
      const cause = error instanceof Error ? error.cause : undefined;
      const reason = cause instanceof ContainerStartError ? cause.reason : reasons.errImagePull;
      update.shown = { reason, message: `${errorMessage(error)}; ${runsOnUntilThen}`, images: imagesOf(toPull) };
    };
    this.deps.prepuller.start(entry, toPull, { onFailure });
  }

  private runningPod(uid: string): RuntimePod | undefined {
    const pod = this.deps.runtimePod(uid);
    return pod !== undefined && isPodRunning(pod) ? pod : undefined;
  }
}

const resizeReasons = { Deferred: reasons.resizeDeferred, Infeasible: reasons.resizeInfeasible };

/** Drops the waiting revision of a pod that was declared again or is applied now. */
function clearWaiting(entry: PodEntry): void {
  entry.update = undefined;
  dropPull(entry);
}

function pulling(pod: Pod): WaitingUpdate {
  const images = imagesOf(pod);
  return { reason: reasons.pulling, message: `pulling ${images.join(', ')}; ${runsOnUntilThen}`, images };
}

function imagesOf({ spec }: Pod): string[] {
  return [...new Set(initAndRegularContainers(spec).flatMap(({ image }) => image ?? []))];
}

/** True if the change requests more of a resource. */
function isRaise(current: Pod, next: Pod): boolean {
  const before = podRequests(current);
  const after = podRequests(next);
  return [...after.keys()].some((resource) => amountOf(after, resource) > amountOf(before, resource));
}

const uidOf = ({ metadata }: Pod): string => metadata.uid;

/** Reduces the pod to these containers. Returns undefined if it has none of them. */
function withContainers(pod: Pod, isKept: (name: string) => boolean): Pod | undefined {
  const only = (containers: readonly Container[] = []): Container[] => containers.filter(({ name }) => isKept(name));
  const { initContainers, containers } = pod.spec;
  const spec = { ...pod.spec, initContainers: only(initContainers), containers: only(containers) };
  return spec.initContainers.length + spec.containers.length === 0 ? undefined : { ...pod, spec };
}

function isContainerRunning({ containers }: RuntimePod, name: string): boolean {
  return containers.some((container) => container.name === name && container.state === 'running');
}

import type { Container, Pod } from '../api/types.ts';
import { initAndRegularContainers } from '../api/values/containers.ts';
import { podRequests } from '../api/values/resource-totals.ts';
import type { Clock } from '../clock.ts';
import { errorMessage } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { ContainerStartError } from './container/container-start-error.ts';
import { isPodRunning, type RuntimePod } from './container/runtime-pod.ts';
import { ImagesAhead } from './pod-start/images-ahead.ts';
import { computePodChange } from './in-place/compute-pod-change.ts';
import { amountOf, describeInsufficient, insufficientResources, insufficientWords } from './lifecycle/node-fit.ts';
import type { NodeConfig } from './node-config.ts';
import type { PodManager } from './pod-start/pod-manager.ts';
import type { PodWorkers } from './pod-workers/pod-workers.ts';
import type { Emit } from './view/event-bus.ts';
import { podEventRecorder } from './view/event-recorder.ts';
import { reasons, runsOnUntilThen } from './view/reasons.ts';
import type { WaitingUpdate } from './view/snapshot.ts';

interface Deps {
  node: Pick<NodeConfig, 'inPlace' | 'allocatable'>;
  podManager: PodManager;
  workers: Pick<PodWorkers, 'updatePod' | 'has' | 'activePods' | 'isPodTerminationRequested'>;
  /** The revision that the pod runs. Returns undefined if it is unknown. */
  runningRevision: (uid: string) => Pod | undefined;
  /** The pods of the runtime by its last listing. */
  runtimePods: () => RuntimePod[];
  /** Pods for which others were ended. They have not started yet. */
  reservedPods: () => Pod[];
  /** Pulls the images of these containers. Rejects if one cannot be pulled now. */
  pullForUpdate: (pod: Pod, signal: AbortSignal) => Promise<void>;
  /** Called when images of a waiting revision were pulled. */
  onReady: (podUID: string) => void;
  emit: Emit;
  clock: Clock;
  logger: Logger;
  /** Ends all pulls. */
  stopped: AbortSignal;
}

interface Waiting {
  current: Pod;
  next: Pod;
  /** True if the next revision requests more of a resource. */
  isRaise: boolean;
  /** The next revision with the containers whose image must be pulled first. Undefined if there are none. */
  toPull: Pod | undefined;
  shown: WaitingUpdate;
}

/**
 * Changes of running pods that are carried out in place. The current revision runs on until the node has room for the
 * next one and its images are present, as `PodReplacements` does it for whole pods.
 *
 * INVARIANT: only the newest declared revision of a pod waits.
 */
export class InPlaceUpdates {
  private readonly imagesAhead: ImagesAhead;
  /** By UID. */
  private readonly waiting = new Map<string, Waiting>();

  constructor(private readonly deps: Deps) {
    this.imagesAhead = new ImagesAhead({ ...deps, pullAhead: (pod, signal) => this.pull(pod, signal) });
  }

  /**
   * Takes declared revisions. Returns the revisions to run now, in the same order. A pod whose revision waits runs its
   * current one. Raised requests are judged last, beside all that the running pods of the list request from now on.
   */
  declared(pods: readonly Pod[]): Pod[] {
    const taken = new Map<string, Pod>();
    const changes: Waiting[] = [];
    for (const next of pods) {
      const change = this.changeTo(next);
      if (change === undefined) taken.set(uidOf(next), next);
      else changes.push(change);
    }
    for (const change of changes.toSorted((a, b) => Number(a.isRaise) - Number(b.isRaise))) {
      const uid = uidOf(change.next);
      this.waiting.set(uid, change);
      const follows = this.mayFollow(change, taken);
      if (follows) this.forget(uid);
      taken.set(uid, follows ? change.next : change.current);
    }
    return pods.map((pod) => taken.get(uidOf(pod)) ?? pod);
  }

  /** Carries out the waiting revisions that need not wait any longer. */
  proceed(): void {
    const { podManager, workers } = this.deps;
    for (const [uid, waiting] of [...this.waiting]) {
      if (!this.mayFollow(waiting)) continue;
      this.forget(uid);
      podManager.setPod(waiting.next);
      workers.updatePod({ type: 'update', pod: waiting.next });
    }
  }

  /** Why the newest revision of a pod waits. Returns undefined if it does not. */
  waitOf(uid: string): WaitingUpdate | undefined {
    return this.waiting.get(uid)?.shown;
  }

  /** The newest revision of a pod if it waits. */
  nextOf(uid: string): Pod | undefined {
    return this.waiting.get(uid)?.next;
  }

  /** The revisions that wait. */
  pods(): Pod[] {
    return [...this.waiting.values()].map(({ next }) => next);
  }

  /** Forgets the pulls for the waiting revision of a pod, so that its next sync starts them at once. */
  retry(uid: string): void {
    this.imagesAhead.forget(uid);
  }

  /** Forgets the waiting revision of a pod that was removed or declared again. */
  forget(uid: string): void {
    this.waiting.delete(uid);
    this.imagesAhead.forget(uid);
  }

  /**
   * The change in place to this revision. Returns undefined if the pod must be replaced or does not run. Forgets the
   * revision that waits.
   */
  private changeTo(next: Pod): Waiting | undefined {
    const { podManager, workers, runningRevision, node } = this.deps;
    const uid = uidOf(next);
    const current = podManager.get(uid) ?? runningRevision(uid);
    const running = this.runningPod(uid);
    const before = this.waiting.get(uid);
    this.forget(uid);
    if (current === undefined || running === undefined || workers.isPodTerminationRequested(uid)) return undefined;
    const change = computePodChange(current, next, node.inPlace);
    if (change.kind !== 'inPlace') return undefined;
    const toPull = withContainers(next, (name) => change.images.includes(name) && isContainerRunning(running, name));
    return { current, next, isRaise: isRaise(current, next), toPull, shown: before?.shown ?? pulling(toPull ?? next) };
  }

  /**
   * True if the node has room and the images are present. Otherwise starts the pulls. `taken`: revisions of the same
   * list, by UID.
   */
  private mayFollow(waiting: Waiting, taken: ReadonlyMap<string, Pod> = new Map()): boolean {
    const { next, toPull } = waiting;
    // Without a running pod nothing is lost.
    if (this.runningPod(uidOf(next)) === undefined) return true;
    const misfit = this.misfitOf(waiting, taken);
    if (misfit !== undefined) {
      this.show(waiting, misfit);
      return false;
    }
    if (toPull === undefined || this.imagesAhead.stateOf(toPull) === 'pulled') return true;
    if (this.imagesAhead.stateOf(toPull) === 'unknown') waiting.shown = pulling(toPull);
    this.imagesAhead.start(toPull);
    return false;
  }

  /** Resources that are raised and do not fit beside the other pods. kubelet: kubelet.go canResizePod */
  private misfitOf(waiting: Waiting, taken: ReadonlyMap<string, Pod>): WaitingUpdate | undefined {
    // Each sync of any pod comes here for each revision that waits.
    if (!waiting.isRaise) return undefined;
    const { current, next } = waiting;
    const others = this.podsWithRoom(taken).filter((other) => uidOf(other) !== uidOf(next));
    const before = podRequests(current);
    const [missing] = insufficientResources(next, others, this.deps.node.allocatable).filter(
      ({ resource, requested }) => requested > amountOf(before, resource),
    );
    if (missing === undefined) return undefined;
    const message = `${describeInsufficient(missing)} (${insufficientWords(missing)}); ${runsOnUntilThen}`;
    return { reason: `OutOf${missing.resource}`, message };
  }

  /**
   * The pods that hold room on the node, or for which room is made. Before the first list of its source, a running pod
   * has no worker.
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

  private show(waiting: Waiting, shown: WaitingUpdate): void {
    const isNews = waiting.shown.reason !== shown.reason;
    waiting.shown = shown;
    if (isNews) podEventRecorder(this.deps.emit, waiting.next).warning(reasons.replacementWaits, shown.message);
  }

  private async pull(pod: Pod, signal: AbortSignal): Promise<void> {
    try {
      await this.deps.pullForUpdate(pod, signal);
    } catch (error) {
      const waiting = this.waiting.get(pod.metadata.uid);
      const cause = error instanceof Error ? error.cause : undefined;
      const reason = cause instanceof ContainerStartError ? cause.reason : reasons.errImagePull;
      if (waiting?.toPull === pod) {
        waiting.shown = { reason, message: `${errorMessage(error)}; ${runsOnUntilThen}`, images: imagesOf(pod) };
      }
      throw error;
    }
  }

  private runningPod(uid: string): RuntimePod | undefined {
    return this.deps.runtimePods().find((pod) => pod.uid === uid && isPodRunning(pod));
  }
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

/** The pod with only these containers. Returns undefined if it has none of them. */
function withContainers(pod: Pod, isMeant: (name: string) => boolean): Pod | undefined {
  const only = (containers: readonly Container[] = []): Container[] => containers.filter(({ name }) => isMeant(name));
  const { initContainers, containers } = pod.spec;
  const spec = { ...pod.spec, initContainers: only(initContainers), containers: only(containers) };
  return spec.initContainers.length + spec.containers.length === 0 ? undefined : { ...pod, spec };
}

function isContainerRunning({ containers }: RuntimePod, name: string): boolean {
  return containers.some((container) => container.name === name && container.state === 'running');
}

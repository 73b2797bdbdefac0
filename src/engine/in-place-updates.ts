import type { Container, Pod } from '../api/types.ts';
import { podRequests } from '../api/values/resource-totals.ts';
import type { Clock } from '../clock.ts';
import { errorMessage } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { ContainerStartError } from './container/container-start-error.ts';
import { isPodRunning, type RuntimePod } from './container/pod-records.ts';
import { ImagesAhead } from './images-ahead.ts';
import { computePodChange } from './in-place/compute-pod-change.ts';
import { amountOf, describeInsufficient, insufficientResources, insufficientWords } from './lifecycle/node-fit.ts';
import type { NodeConfig } from './node-config.ts';
import type { PodManager } from './pod-manager/pod-manager.ts';
import type { PodWorkers } from './pod-workers/pod-workers.ts';
import type { Emit } from './view/event-bus.ts';
import { podEventRecorder } from './view/event-recorder.ts';
import { reasons, runsOnUntilThen } from './view/reasons.ts';
import type { WaitingUpdate } from './view/snapshot.ts';

interface Deps {
  node: Pick<NodeConfig, 'inPlace' | 'allocatable'>;
  podManager: PodManager;
  workers: Pick<PodWorkers, 'updatePod' | 'activePods' | 'isPodTerminationRequested'>;
  /** The revision that the pod runs. Returns undefined if it is unknown. */
  runningRevision: (uid: string) => Pod | undefined;
  /** The pods of the runtime by its last listing. */
  runtimePods: () => RuntimePod[];
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
  /** The next revision with the containers whose image must be pulled first. Undefined if there are none. */
  toPull: Pod | undefined;
  shown: WaitingUpdate;
}

/**
 * Changes of running pods that are carried out in place. The current revision runs on until the node has room for the
 * next one and its images are present, as `PodRevisions` does it for whole pods.
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

  /** Takes a declared revision. Returns the one to run now: this one, or the current one while this one waits. */
  declared(next: Pod): Pod {
    const { podManager, workers, runningRevision, node } = this.deps;
    const { uid } = next.metadata;
    const current = podManager.get(uid) ?? runningRevision(uid);
    const running = this.runningPod(uid);
    const before = this.waiting.get(uid);
    this.forget(uid);
    if (current === undefined || running === undefined || workers.isPodTerminationRequested(uid)) return next;
    const change = computePodChange(current, next, node.inPlace);
    if (change.kind !== 'inPlace') return next;
    const toPull = withContainers(next, (name) => change.images.includes(name) && isContainerRunning(running, name));
    const waiting = { current, next, toPull, shown: before?.shown ?? pulling };
    this.waiting.set(uid, waiting);
    if (!this.mayFollow(waiting)) return current;
    this.forget(uid);
    return next;
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

  /** Forgets the waiting revision of a pod that was removed or declared again. */
  forget(uid: string): void {
    this.waiting.delete(uid);
    this.imagesAhead.forget(uid);
  }

  /** True if the node has room and the images are present. Otherwise starts the pulls. */
  private mayFollow(waiting: Waiting): boolean {
    const { next, toPull } = waiting;
    // Without a running pod nothing is lost.
    if (this.runningPod(next.metadata.uid) === undefined) return true;
    const misfit = this.misfitOf(waiting);
    if (misfit !== undefined) {
      this.show(waiting, misfit);
      return false;
    }
    if (toPull === undefined || this.imagesAhead.arePulled(toPull)) return true;
    if (!this.imagesAhead.isPulling(toPull)) waiting.shown = pulling;
    this.imagesAhead.start(toPull);
    return false;
  }

  /** Resources that are raised and do not fit beside the other pods. kubelet: kubelet.go canResizePod */
  private misfitOf({ current, next }: Waiting): WaitingUpdate | undefined {
    const { workers, podManager, node } = this.deps;
    const { uid } = next.metadata;
    const others = workers
      .activePods()
      .filter(({ metadata }) => metadata.uid !== uid && podManager.get(metadata.uid) !== undefined);
    const before = podRequests(current);
    const [missing] = insufficientResources(next, others, node.allocatable).filter(
      ({ resource, requested }) => requested > amountOf(before, resource),
    );
    if (missing === undefined) return undefined;
    const message = `${describeInsufficient(missing)} (${insufficientWords(missing)}); ${runsOnUntilThen}`;
    return { reason: `OutOf${missing.resource}`, message };
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
      if (waiting?.toPull === pod) waiting.shown = { reason, message: `${errorMessage(error)}; ${runsOnUntilThen}` };
      throw error;
    }
  }

  private runningPod(uid: string): RuntimePod | undefined {
    return this.deps.runtimePods().find((pod) => pod.uid === uid && isPodRunning(pod));
  }
}

const pulling: WaitingUpdate = { reason: reasons.pulling, message: `its images are pulled; ${runsOnUntilThen}` };

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

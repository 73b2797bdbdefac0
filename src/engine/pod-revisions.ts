import type { Pod } from '../api/types.ts';
import type { SourceName } from '../api/values/config-annotations.ts';
import type { Housekeeping } from './housekeeping.ts';
import type { ImagesAhead } from './images-ahead.ts';
import type { PodAdmission } from './lifecycle/pod-admission.ts';
import type { Replacement } from './lifecycle/port-exchange.ts';
import { hasRunningContainer, isPodRunning, type RuntimePod } from './container/pod-records.ts';
import type { PodManager } from './pod-manager/pod-manager.ts';
import { podFullName } from '../api/values/pod-names.ts';
import type { PodWorkers } from './pod-workers/pod-workers.ts';

interface Deps {
  podManager: PodManager;
  workers: PodWorkers;
  imagesAhead: ImagesAhead;
  admission: Pick<PodAdmission, 'admitReplacement'>;
  /** The pods of the runtime as they were last listed. */
  runtimePods: () => RuntimePod[];
  relistPod: (uid: string) => Promise<void>;
  housekeeping: Housekeeping;
  /** Some source has a pod of this full name now; the update that says so may still be on its way. */
  isNameDeclared: (fullName: string) => boolean;
  /** A source that was not read yet may declare this pod. */
  mayBeDeclared: (uid: string) => boolean;
  /** Ends a pod that is not declared any more. */
  removePod: (pod: Pod, source: SourceName) => void;
  leaveOrphans: boolean;
}

/**
 * One revision of a pod after the other. The kubelet stops a pod as soon as its manifest changed; here it runs on until its
 * next revision is admitted and has its images, so that a manifest for which there is no room, a pull, or an image that
 * cannot be had, costs nothing that runs.
 *
 * INVARIANTS: a revision that runs on stays declared, so that it is kept alive; the next one has no worker until then.
 */
export class PodRevisions {
  private readonly deps: Deps;
  /** By full name: declared by their source no more, and running on. */
  private readonly outgoing = new Map<string, { pod: Pod; source: SourceName }>();
  /** UIDs of the pods that an earlier life left. */
  private earlierPods: ReadonlySet<string> = new Set();

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** Before anything else: the pods that an earlier life left. */
  adopt(earlierPods: readonly string[]): void {
    this.earlierPods = new Set(earlierPods);
  }

  /** A pod is declared. It may be one that was to go, put back before its next revision could start. */
  declared(pod: Pod): void {
    if (this.outgoingBefore(pod) === undefined) this.outgoing.delete(podFullName(pod));
  }

  /** A pod is not declared any more: it goes, unless its manifest only changed and it runs. */
  retire(pod: Pod, source: SourceName): void {
    const { imagesAhead, isNameDeclared, removePod } = this.deps;
    const fullName = podFullName(pod);
    imagesAhead.forget(pod.metadata.uid);
    const outgoing = this.outgoingBefore(pod);
    const isReplaced = isNameDeclared(fullName);
    if (isReplaced && outgoing === undefined && this.runs(pod)) {
      this.outgoing.set(fullName, { pod, source });
      return;
    }
    removePod(pod, source);
    if (!isReplaced && outgoing !== undefined) this.remove(outgoing);
  }

  /**
   * Ends the earlier revision of the pod, once this one may start and has its images. True if none is in the way any more. If
   * false, housekeeping starts the pod again, or admission if it was rejected.
   */
  replaceEarlier(pod: Pod): boolean {
    const { imagesAhead, workers } = this.deps;
    const outgoing = this.outgoingBefore(pod);
    const predecessor = this.predecessorOf(pod);
    if (predecessor !== undefined && workers.has(predecessor.uid)) return false;
    const isInTheWay = outgoing !== undefined || predecessor !== undefined;
    const isLoss = predecessor !== undefined || (outgoing !== undefined && this.runs(outgoing.pod));
    if (isInTheWay && !this.replace({ current: outgoing?.pod, next: pod }, isLoss)) return false;
    if (predecessor !== undefined) {
      this.stopPredecessor(predecessor);
      return false;
    }
    imagesAhead.forget(pod.metadata.uid);
    return true;
  }

  /** False if the replacement has to wait for admission, or for images where something that runs is lost. */
  private replace(replacement: Replacement, isLoss: boolean): boolean {
    const { admission, housekeeping, imagesAhead } = this.deps;
    if (isLoss && imagesAhead.isPulling(replacement.next)) return false;
    const admitted = admission.admitReplacement(replacement, () => this.pending()).map(({ next }) => next);
    if (admitted.length === 0) return false;
    // Pulled side by side.
    if (isLoss) for (const pod of admitted) imagesAhead.start(pod);
    if (isLoss && !admitted.every((pod) => imagesAhead.arePulled(pod))) return false;
    for (const pod of admitted) this.removeBefore(pod);
    // Housekeeping starts the others.
    if (admitted.length > 1) housekeeping.request();
    return true;
  }

  /** True: the pod is declared no more, and runs on. */
  isOutgoing({ metadata, ...pod }: Pod): boolean {
    return this.outgoing.get(podFullName({ metadata, ...pod }))?.pod.metadata.uid === metadata.uid;
  }

  /** The pod has to wait for the revision before it. */
  isHeldBack(pod: Pod): boolean {
    return this.deps.imagesAhead.has(pod.metadata.uid) || this.outgoingBefore(pod) !== undefined;
  }

  /** A pod of an earlier life runs on until its next revision can start. */
  isRunningOn(uid: string): boolean {
    const { podManager, runtimePods } = this.deps;
    const runningPod = runtimePods().find((pod) => pod.uid === uid);
    const next = runningPod && podManager.getByFullName(`${runningPod.name}_${runningPod.namespace}`);
    return next !== undefined && this.predecessorOf(next)?.uid === uid;
  }

  /** The replacements that could be made. */
  private pending(): Replacement[] {
    return this.deps.podManager.pods().flatMap((next) => {
      const outgoing = this.outgoingBefore(next);
      return outgoing === undefined ? [] : [{ current: outgoing.pod, next }];
    });
  }

  private removeBefore(pod: Pod): void {
    const outgoing = this.outgoingBefore(pod);
    if (outgoing !== undefined) this.remove(outgoing);
  }

  private remove({ pod, source }: { pod: Pod; source: SourceName }): void {
    this.outgoing.delete(podFullName(pod));
    this.deps.removePod(pod, source);
  }

  private outgoingBefore(pod: Pod): { pod: Pod; source: SourceName } | undefined {
    const outgoing = this.outgoing.get(podFullName(pod));
    return outgoing?.pod.metadata.uid === pod.metadata.uid ? undefined : outgoing;
  }

  /** A pod without a running container, as one whose own image cannot be had, is no loss. */
  private runs({ metadata: { uid } }: Pod): boolean {
    return this.deps.runtimePods().some((pod) => pod.uid === uid && hasRunningContainer(pod));
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
    const { workers, relistPod, housekeeping, mayBeDeclared } = this.deps;
    const { uid } = runningPod;
    if (mayBeDeclared(uid) || workers.has(uid)) return;
    const onTerminated = (): void => {
      void relistPod(uid).then(() => {
        housekeeping.request();
      });
    };
    workers.updatePod({ type: 'kill', runningPod, killPodOptions: { onTerminated } });
  }
}

import type { Pod } from '../api/types.ts';
import { sourceOf, type SourceName } from '../api/values/config-annotations.ts';
import type { Housekeeping } from './housekeeping.ts';
import type { ImagesAhead } from './images-ahead.ts';
import type { PodAdmission } from './lifecycle/pod-admission.ts';
import type { Replacement } from './lifecycle/port-exchange.ts';
import { hasRunningContainer, isPodRunning, type RuntimePod } from './container/runtime-pod.ts';
import type { PodManager } from './pod-manager/pod-manager.ts';
import { podFullName } from '../api/values/pod-names.ts';
import type { PodWorkers } from './pod-workers/pod-workers.ts';

interface Deps {
  podManager: PodManager;
  workers: PodWorkers;
  imagesAhead: ImagesAhead;
  admission: Pick<PodAdmission, 'admitReplacement'>;
  /** The pods of the runtime by its last listing. */
  runtimePods: () => RuntimePod[];
  relistPod: (uid: string) => Promise<void>;
  housekeeping: Housekeeping;
  /** True if a source declares a pod of this full name now. Its update may not be handled yet. */
  isNameDeclared: (fullName: string) => boolean;
  /** True if a source that was not read yet may declare this pod. */
  mayBeDeclared: (uid: string) => boolean;
  /** Ends a pod that is no longer declared. */
  removePod: (pod: Pod, source: SourceName) => void;
}

/**
 * Replaces a pod by its next revision, which has another UID. The kubelet stops a pod as soon as its manifest changes.
 * Here it runs until the next revision is admitted and has its images. So a lack of room or a failed pull stops no
 * running pod.
 *
 * INVARIANTS: the running revision stays declared, so that it is maintained. The next revision has no worker until
 * then.
 */
export class PodReplacements {
  /** Running revisions that are no longer declared, by full name. */
  private readonly outgoing = new Map<string, { pod: Pod; source: SourceName }>();
  /** UIDs of pods of an earlier agent. */
  private earlierPods: ReadonlySet<string> = new Set();

  constructor(private readonly deps: Deps) {}

  /** Sets the pods of an earlier agent. Called first. */
  adopt(earlierPods: readonly string[]): void {
    this.earlierPods = new Set(earlierPods);
  }

  /** Lets a pod of an earlier agent run on that no source declares. */
  keep(pod: Pod): void {
    this.outgoing.set(podFullName(pod.metadata), { pod, source: sourceOf(pod) });
  }

  /** Handles a declared pod. It may be the outgoing revision, declared again. */
  declared(pod: Pod): void {
    if (this.outgoingBefore(pod) === undefined) this.outgoing.delete(podFullName(pod.metadata));
  }

  /** Handles a pod that is no longer declared. It ends unless its manifest only changed and it runs. */
  retire(pod: Pod, source: SourceName): void {
    const { imagesAhead, isNameDeclared, removePod } = this.deps;
    const fullName = podFullName(pod.metadata);
    imagesAhead.forget(pod.metadata.uid);
    const outgoing = this.outgoingBefore(pod);
    const isReplaced = isNameDeclared(fullName);
    if (isReplaced && outgoing === undefined && this.runs(pod)) {
      this.outgoing.set(fullName, { pod, source });
      return;
    }
    if (outgoing === undefined) this.outgoing.delete(fullName);
    removePod(pod, source);
    if (!isReplaced && outgoing !== undefined) this.remove(outgoing);
  }

  /**
   * Ends the earlier revision of the pod if this one is admitted and has its images. Returns true if no earlier
   * revision is left. If false, housekeeping or admission starts the pod later.
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

  /** Returns false if the replacement waits for admission, or for images while the old revision runs. */
  private replace(replacement: Replacement, isLoss: boolean): boolean {
    const { admission, housekeeping, imagesAhead } = this.deps;
    if (isLoss && imagesAhead.isPulling(replacement.next)) return false;
    const admitted = admission.admitReplacement(replacement, () => this.pending()).map(({ next }) => next);
    if (admitted.length === 0) return false;
    // Pulls the images in parallel.
    if (isLoss) for (const pod of admitted) imagesAhead.start(pod);
    if (isLoss && !admitted.every((pod) => imagesAhead.arePulled(pod))) return false;
    for (const pod of admitted) this.removeBefore(pod);
    // Housekeeping starts the other pods.
    if (admitted.length > 1) housekeeping.request();
    return true;
  }

  /** Ends every earlier revision of a pod that does not start. */
  endEarlier(pod: Pod): void {
    const predecessor = this.predecessorOf(pod);
    if (predecessor !== undefined) this.stopPredecessor(predecessor);
    this.deps.imagesAhead.forget(pod.metadata.uid);
    this.removeBefore(pod);
  }

  /** True if the pod is no longer declared but still runs. */
  isOutgoing({ metadata }: Pod): boolean {
    return this.outgoing.get(podFullName(metadata))?.pod.metadata.uid === metadata.uid;
  }

  /** True if the pod waits for its earlier revision. */
  isHeldBack(pod: Pod): boolean {
    return this.deps.imagesAhead.has(pod.metadata.uid) || this.outgoingBefore(pod) !== undefined;
  }

  /** True if this pod of an earlier agent runs until its next revision can start. */
  isRunningOn(uid: string): boolean {
    const { podManager, runtimePods } = this.deps;
    const runningPod = runtimePods().find((pod) => pod.uid === uid);
    const next = runningPod && podManager.getByFullName(podFullName(runningPod));
    return next !== undefined && this.predecessorOf(next)?.uid === uid;
  }

  /** The possible replacements. */
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
    this.outgoing.delete(podFullName(pod.metadata));
    this.deps.removePod(pod, source);
  }

  private outgoingBefore(pod: Pod): { pod: Pod; source: SourceName } | undefined {
    const outgoing = this.outgoing.get(podFullName(pod.metadata));
    return outgoing?.pod.metadata.uid === pod.metadata.uid ? undefined : outgoing;
  }

  /** True if a container of the pod runs. A pod without one loses nothing by a replacement. */
  private runs({ metadata: { uid } }: Pod): boolean {
    return this.deps.runtimePods().some((pod) => pod.uid === uid && hasRunningContainer(pod));
  }

  /** The running revision of the pod from an earlier agent. Returns undefined if there is none. */
  private predecessorOf({ metadata: { name, namespace } }: Pod): RuntimePod | undefined {
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

import type { Pod } from '../../api/types.ts';
import { sourceOf, type SourceName } from '../../api/values/config-annotations.ts';
import { podFullName } from '../../api/values/pod-names.ts';
import { hasRunningContainer, isPodRunning, type RuntimePod } from '../container/runtime-pod.ts';
import type { AppliedRevisions } from '../in-place/applied-revisions.ts';
import type { Replacement } from '../lifecycle/port-exchange.ts';
import type { PodWorkers } from '../pod-workers/pod-workers.ts';
import type { EarlierRevision } from './compute-pod-start.ts';
import { dropPull, type PodEntry } from './pod-entry.ts';
import type { PodManager } from './pod-manager.ts';

interface Deps {
  podManager: PodManager;
  workers: PodWorkers;
  /** The pods in the runtime's last listing. */
  runtimePods: () => RuntimePod[];
  /** The pod with this UID in the runtime's last listing. */
  runtimePod: (uid: string) => RuntimePod | undefined;
  appliedRevisions: Pick<AppliedRevisions, 'of'>;
  relistPod: (uid: string) => Promise<void>;
  housekeeping: { request: () => void };
  /** True if a source currently declares a pod with this full name. Its update may not be handled yet. */
  isNameDeclared: (fullName: string) => boolean;
  /** True if an unread source may declare this pod. */
  mayBeDeclared: (uid: string) => boolean;
  /** Stops a pod that is no longer declared. */
  removePod: (pod: Pod, source: SourceName) => void;
}

/**
 * Running revisions of pods whose next revision has another UID. `computePodStart` decides when they stop.
 *
 * INVARIANTS: the running revision stays declared, so that it is maintained. The next revision has no worker until
 * then.
 */
export class PodReplacements {
  /** UIDs of pods of an earlier agent. */
  private earlierPods: ReadonlySet<string> = new Set();

  constructor(private readonly deps: Deps) {}

  /** Sets the pods of an earlier agent. Call it first. */
  adopt(earlierPods: readonly string[]): void {
    this.earlierPods = new Set(earlierPods);
  }

  /** Keeps a pod of an earlier agent running. */
  keep(pod: Pod): void {
    this.deps.podManager.setPod(pod).outgoing = { source: sourceOf(pod) };
  }

  /**
   * Keeps the revisions of an earlier agent running until their next revisions may start. Call it once all sources are
   * read.
   */
  keepEarlier(): void {
    const { runtimePods, workers, appliedRevisions } = this.deps;
    for (const pod of runtimePods()) {
      if (!hasRunningContainer(pod) || workers.has(pod.uid) || !this.isRunningOn(pod.uid)) continue;
      const revision = appliedRevisions.of(pod.uid);
      if (revision !== undefined) this.keep(revision);
    }
  }

  /** Handles a pod that is no longer declared. Stops it unless its manifest only changed and it is running. */
  retire(pod: Pod, source: SourceName): void {
    const { isNameDeclared, podManager, removePod } = this.deps;
    const outgoing = this.outgoingBefore(pod);
    const isReplaced = isNameDeclared(podFullName(pod.metadata));
    const entry = podManager.entry(pod.metadata.uid);
    if (entry !== undefined && isReplaced && outgoing === undefined && this.runs(pod)) {
      dropPull(entry);
      entry.update = undefined;
      entry.outgoing = { source };
      return;
    }
    removePod(pod, source);
    if (!isReplaced && outgoing !== undefined) this.remove(outgoing);
  }

  /** The earlier revision that must stop before this pod starts. */
  earlierOf(pod: Pod): EarlierRevision | undefined {
    const { workers, mayBeDeclared } = this.deps;
    const outgoing = this.outgoingBefore(pod)?.pod;
    const predecessor = this.predecessorOf(pod);
    if (outgoing === undefined && predecessor === undefined) return undefined;
    return {
      current: outgoing,
      isEnding: predecessor !== undefined && workers.has(predecessor.uid),
      isRunning: predecessor !== undefined || (outgoing !== undefined && this.runs(outgoing)),
      mayBeDeclared: outgoing === undefined && predecessor !== undefined && mayBeDeclared(predecessor.uid),
    };
  }

  /** Stops every earlier revision of a pod. */
  endEarlier(pod: Pod): void {
    const outgoing = this.outgoingBefore(pod);
    const predecessor = this.predecessorOf(pod);
    if (outgoing !== undefined) this.remove(outgoing);
    if (predecessor !== undefined) this.stopPredecessor(predecessor);
  }

  /** True if the pod is no longer declared but still runs. */
  isOutgoing({ metadata: { uid } }: Pod): boolean {
    return this.deps.podManager.entry(uid)?.outgoing !== undefined;
  }

  /** True if an earlier revision of the pod is still declared to run. */
  isReplacing(pod: Pod): boolean {
    return this.outgoingBefore(pod) !== undefined;
  }

  /** True if this pod of an earlier agent runs until its next revision can start. */
  isRunningOn(uid: string): boolean {
    const { podManager, runtimePod } = this.deps;
    const runningPod = runtimePod(uid);
    const next = runningPod && podManager.getByFullName(podFullName(runningPod));
    return next !== undefined && this.predecessorOf(next)?.uid === uid;
  }

  /** The possible replacements. */
  pending(): Replacement[] {
    return this.deps.podManager.pods().flatMap((next) => {
      const outgoing = this.outgoingBefore(next);
      return outgoing === undefined ? [] : [{ current: outgoing.pod, next }];
    });
  }

  private remove({ pod, outgoing }: PodEntry): void {
    this.deps.removePod(pod, outgoing?.source ?? sourceOf(pod));
  }

  private outgoingBefore({ metadata }: Pod): PodEntry | undefined {
    return this.deps.podManager
      .revisions(podFullName(metadata))
      .find(({ pod, outgoing }) => outgoing !== undefined && pod.metadata.uid !== metadata.uid);
  }

  /** True if a container of the pod is running. Otherwise a replacement interrupts nothing. */
  private runs({ metadata: { uid } }: Pod): boolean {
    const pod = this.deps.runtimePod(uid);
    return pod !== undefined && hasRunningContainer(pod);
  }

  /** The running revision of the pod from an earlier agent, or undefined if there is none. */
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

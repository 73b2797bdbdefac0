import type { Pod } from '../../api/types.ts';
import { sourceOf, type SourceName } from '../../api/values/config-annotations.ts';
import { podFullName } from '../../api/values/pod-names.ts';
import { hasRunningContainer, isPodRunning, type RuntimePod } from '../container/runtime-pod.ts';
import type { Replacement } from '../lifecycle/port-exchange.ts';
import type { PodWorkers } from '../pod-workers/pod-workers.ts';
import type { EarlierRevision } from './compute-pod-start.ts';
import { dropPull, type PodEntry } from './pod-entry.ts';
import type { PodManager } from './pod-manager.ts';

interface Deps {
  podManager: PodManager;
  workers: PodWorkers;
  /** The pods of the runtime by its last listing. */
  runtimePods: () => RuntimePod[];
  /** The one of them with this UID. */
  runtimePod: (uid: string) => RuntimePod | undefined;
  relistPod: (uid: string) => Promise<void>;
  housekeeping: { request: () => void };
  /** True if a source declares a pod of this full name now. Its update may not be handled yet. */
  isNameDeclared: (fullName: string) => boolean;
  /** True if a source that was not read yet may declare this pod. */
  mayBeDeclared: (uid: string) => boolean;
  /** Ends a pod that is no longer declared. */
  removePod: (pod: Pod, source: SourceName) => void;
}

/**
 * The running revisions of pods whose next revision has another UID. `computePodStart` decides when they end.
 *
 * INVARIANTS: the running revision stays declared, so that it is maintained. The next revision has no worker until
 * then.
 */
export class PodReplacements {
  /** UIDs of pods of an earlier agent. */
  private earlierPods: ReadonlySet<string> = new Set();

  constructor(private readonly deps: Deps) {}

  /** Sets the pods of an earlier agent. Called first. */
  adopt(earlierPods: readonly string[]): void {
    this.earlierPods = new Set(earlierPods);
  }

  /** Lets a pod of an earlier agent run on that no source declares. */
  keep(pod: Pod): void {
    this.deps.podManager.setPod(pod).outgoing = { source: sourceOf(pod) };
  }

  /** Handles a pod that is no longer declared. It ends unless its manifest only changed and it runs. */
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

  /** The earlier revision that must end before this pod starts. */
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

  /** Ends every earlier revision of a pod. */
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

  /** True if a container of the pod runs. A pod without one loses nothing by a replacement. */
  private runs({ metadata: { uid } }: Pod): boolean {
    const pod = this.deps.runtimePod(uid);
    return pod !== undefined && hasRunningContainer(pod);
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

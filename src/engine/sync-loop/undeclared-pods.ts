import { alwaysRestarts } from '../../api/values/restart-rules.ts';
import type { Pod } from '../../api/types.ts';
import { sourceOf } from '../../api/values/config-annotations.ts';
import { podFullName, podKey, type PodName } from '../../api/values/pod-names.ts';
import type { Logger } from '../../logger.ts';
import { hasRunningContainer, isPodRunning, type RuntimePod } from '../container/runtime-pod.ts';
import { computeKeptPods, type EarlierPod } from '../gc/compute-kept-pods.ts';
import type { UndeclaredRecords } from '../gc/undeclared-records.ts';
import type { AppliedRevisions } from '../in-place/applied-revisions.ts';
import type { PodManager } from '../pod-start/pod-manager.ts';
import type { Emit } from '../view/event-bus.ts';
import { podEventRecorder } from '../view/event-recorder.ts';
import { reasons } from '../view/reasons.ts';

interface Deps {
  podManager: Pick<PodManager, 'get'>;
  appliedRevisions: Pick<AppliedRevisions, 'of'>;
  undeclaredRecords: UndeclaredRecords;
  /** The pods in the runtime's last listing. */
  runtimePods: () => readonly RuntimePod[];
  /** True if a source currently declares a pod with this full name. */
  isNameDeclared: (fullName: string) => boolean;
  /** True if a declared workload may have a pod of this name, even if it does not want one now. */
  isOfWorkload: (pod: PodName) => boolean;
  /** True if a source currently declares a pod or a workload. */
  declaresAny: () => boolean;
  /**
   * True if undeclared pods may stop, even if these are all pods: because of `--prune` or a source that confirms it.
   */
  isConfirmed: () => boolean;
  emit: Emit;
  logger: Logger;
}

/** Hint that explains how to stop undeclared pods. */
export const confirmHint = 'To stop them, run with --prune. To keep them, run with the manifests that declare them.';

/**
 * Pods of an earlier agent that no current manifest declares. They keep running until an operator confirms the stop.
 * The kubelet kills them.
 *
 * INVARIANT: once all sources are read, no further pod is kept.
 */
export class UndeclaredPods {
  private earlier: readonly string[] = [];
  /** Undefined until all sources are read. */
  private decided: Set<string> | undefined;

  constructor(private readonly deps: Deps) {}

  /** Sets the pods of an earlier agent. Call it first. */
  adopt(earlier: readonly string[]): void {
    this.earlier = earlier;
  }

  /** True if the pod is kept running. */
  isKept(uid: string): boolean {
    return this.decided?.has(uid) === true;
  }

  /** True if pods are kept running. */
  keepsAny(): boolean {
    return this.decided !== undefined && this.decided.size > 0;
  }

  /** UIDs of pods that must not be stopped. Until all sources are read, based on the manifests known so far. */
  kept(): Set<string> {
    if (this.decided !== undefined) return this.decided;
    const { declaresAny, isConfirmed } = this.deps;
    return new Set(isConfirmed() ? [] : computeKeptPods(this.earlierPods(), declaresAny()));
  }

  /** True if no manifest declares a pod of the earlier agent, and nobody confirmed that. */
  maySourcesBeWrong(): boolean {
    return !this.deps.isConfirmed() && !this.earlierPods().some(({ isDeclared }) => isDeclared);
  }

  private earlierPods(): EarlierPod[] {
    const { podManager, appliedRevisions, undeclaredRecords, runtimePods, isNameDeclared, isOfWorkload } = this.deps;
    const isNamed = (pod: PodName): boolean => isNameDeclared(podFullName(pod)) || isOfWorkload(pod);
    const running = new Map(runtimePods().map((pod) => [pod.uid, pod]));
    return this.earlier.map((uid) => {
      const [revision, pod] = [appliedRevisions.of(uid), running.get(uid)];
      const named = pod ?? revision?.metadata;
      return {
        uid,
        source: pod?.source ?? (revision && sourceOf(revision)),
        isRunning: pod !== undefined && mayRun(pod, revision),
        runsOnce: revision !== undefined && !alwaysRestarts(revision.spec),
        isDeclared: podManager.get(uid) !== undefined || (named !== undefined && isNamed(named)),
        state: undeclaredRecords.of(uid),
      };
    });
  }

  /** Call it once all sources are read. The first call returns the revisions that keep running. */
  decide(): Pod[] {
    if (this.decided !== undefined) return [];
    const { appliedRevisions, undeclaredRecords, emit, logger } = this.deps;
    this.decided = this.kept();
    if (this.decided.size === 0) return [];
    for (const uid of this.decided) undeclaredRecords.record(uid, 'kept');
    const pods = [...this.decided].flatMap((uid) => appliedRevisions.of(uid) ?? []);
    const names = pods.map(({ metadata }) => podKey(metadata)).sort();
    logger.warn({ pods: names, hint: confirmHint }, 'Keeping pods that no manifest of this start declares');
    for (const pod of pods) podEventRecorder(emit, pod).warning(reasons.notDeclared, notDeclaredText);
    return pods;
  }

  /** Returns and removes the UIDs of kept pods whose stop is confirmed. */
  drainConfirmed(): string[] {
    if (this.decided === undefined || this.decided.size === 0 || !this.deps.isConfirmed()) return [];
    const confirmed = [...this.decided];
    this.decided.clear();
    return confirmed;
  }

  /** Stops treating a pod as kept, because it was declared or removed. */
  drop(uid: string): void {
    this.decided?.delete(uid);
  }
}

/**
 * True unless the pod has finished. If the agent was killed before the stop, the sandbox of a finished pod may still be
 * ready.
 */
function mayRun(pod: RuntimePod, revision: Pod | undefined): boolean {
  const restarts = revision === undefined || alwaysRestarts(revision.spec);
  return restarts ? isPodRunning(pod) : hasRunningContainer(pod);
}

const notDeclaredText =
  'No manifest declares this pod. It is kept, because otherwise this start would remove every pod';

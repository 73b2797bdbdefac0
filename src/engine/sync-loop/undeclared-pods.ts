import type { Pod } from '../../api/types.ts';
import { sourceOf } from '../../api/values/config-annotations.ts';
import { podFullName, podKey } from '../../api/values/pod-names.ts';
import type { Logger } from '../../logger.ts';
import { hasRunningContainer, isPodRunning, type RuntimePod } from '../container/runtime-pod.ts';
import { computeKeptPods } from '../gc/compute-kept-pods.ts';
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
  /** The pods of the runtime by its last listing. */
  runtimePods: () => readonly RuntimePod[];
  /** True if a source declares a pod of this full name now. */
  isNameDeclared: (fullName: string) => boolean;
  /** True if undeclared pods may stop, even if these are all pods: by `--prune`, or by a source that says so. */
  isConfirmed: () => boolean;
  emit: Emit;
  logger: Logger;
}

/** How undeclared pods are stopped, as a hint. */
export const confirmHint = 'To stop them, run with --prune. To keep them, run with the manifests that declare them.';

/**
 * Pods of an earlier agent that no manifest of this start declares, and that run on until someone confirms that they
 * should stop. The kubelet kills them.
 *
 * INVARIANT: once all sources were read, no pod becomes a kept one.
 */
export class UndeclaredPods {
  private earlier: readonly string[] = [];
  /** Undefined until all sources were read. */
  private decided: Set<string> | undefined;

  constructor(private readonly deps: Deps) {}

  /** Sets the pods of an earlier agent. Called first. */
  adopt(earlier: readonly string[]): void {
    this.earlier = earlier;
  }

  /** True for a pod that runs on. */
  isKept(uid: string): boolean {
    return this.decided?.has(uid) === true;
  }

  /** UIDs of the pods that must not be stopped. Before all sources were read, by the manifests that are known now. */
  kept(): Set<string> {
    if (this.decided !== undefined) return this.decided;
    const { podManager, appliedRevisions, undeclaredRecords, runtimePods, isNameDeclared, isConfirmed } = this.deps;
    if (isConfirmed()) return new Set();
    const running = new Map(runtimePods().map((pod) => [pod.uid, pod]));
    const earlier = this.earlier.map((uid) => {
      const [revision, pod] = [appliedRevisions.of(uid), running.get(uid)];
      const named = pod ?? revision?.metadata;
      return {
        uid,
        source: pod?.source ?? (revision && sourceOf(revision)),
        isRunning: pod !== undefined && mayRun(pod, revision),
        isDeclared: podManager.get(uid) !== undefined || (named !== undefined && isNameDeclared(podFullName(named))),
        state: undeclaredRecords.of(uid),
      };
    });
    return new Set(computeKeptPods(earlier));
  }

  /** Called once all sources were read. Returns the revisions that run on, on the first call. */
  decide(): Pod[] {
    if (this.decided !== undefined) return [];
    const { appliedRevisions, undeclaredRecords, emit, logger } = this.deps;
    this.decided = this.kept();
    if (this.decided.size === 0) return [];
    for (const uid of this.decided) undeclaredRecords.note(uid, 'kept');
    const pods = [...this.decided].flatMap((uid) => appliedRevisions.of(uid) ?? []);
    const names = pods.map(({ metadata }) => podKey(metadata)).sort();
    logger.warn({ pods: names, hint: confirmHint }, 'Keeping pods that no manifest of this start declares');
    for (const pod of pods) podEventRecorder(emit, pod).warning(reasons.notDeclared, notDeclaredText);
    return pods;
  }

  /** The UIDs of kept pods whose end is confirmed now, once. */
  takeConfirmed(): string[] {
    if (this.decided === undefined || this.decided.size === 0 || !this.deps.isConfirmed()) return [];
    const confirmed = [...this.decided];
    this.decided.clear();
    return confirmed;
  }

  /** Called for a declared pod, and for one that is removed. It is no kept pod from now on. */
  forget(uid: string): void {
    this.decided?.delete(uid);
  }
}

/** True unless the pod has ended. The sandbox of an ended pod may be ready, if the agent was killed before its stop. */
function mayRun(pod: RuntimePod, revision: Pod | undefined): boolean {
  const restarts = (revision?.spec.restartPolicy ?? 'Always') === 'Always';
  return restarts ? isPodRunning(pod) : hasRunningContainer(pod);
}

const notDeclaredText =
  'No manifest of this start declares the pod. It runs on, because the start would have stopped every pod';

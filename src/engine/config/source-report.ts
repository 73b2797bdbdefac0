import { isDeepStrictEqual } from 'node:util';
import { withoutNotes } from '../../api/text/manifest-problem.ts';
import { podFullName, type PodRef } from '../../api/values/pod-names.ts';
import type { Clock } from '../../clock.ts';
import type { Emit } from '../view/event-bus.ts';
import type { ManifestProblem } from '../view/events.ts';
import { reasons } from '../view/reasons.ts';
import type { SourceSnapshot } from '../view/snapshot.ts';
import type { PodSource } from './pod-source.ts';

interface Deps {
  clock: Pick<Clock, 'now'>;
  emit: Emit;
  /** Returns the UID under which the pod of this full name is declared. Returns undefined if none is. */
  uidOf: (fullName: string) => string | undefined;
}

/** Reports the state of one source: its snapshot, and events when it changes. */
export class SourceReport {
  readonly snapshot: SourceSnapshot;

  constructor(
    { source, where }: PodSource,
    private readonly deps: Deps,
  ) {
    this.snapshot = { source, where, ready: false, pods: 0, problems: [] };
  }

  /** Records a read of the source. `pods` is the number of pods in a new list; by default the old list stays. */
  update(isReady: boolean, allProblems: readonly ManifestProblem[], pods = this.snapshot.pods): void {
    const { snapshot } = this;
    const problems = withoutNotes(allProblems);
    this.recordLastGood(snapshot.problems, problems);
    const isNewList = pods !== snapshot.pods || isReady !== snapshot.ready;
    // Cheap for unchanged manifests, because their problems are the same objects.
    const hasChanged = isNewList || !isDeepStrictEqual(snapshot.problems, problems);
    Object.assign(snapshot, { problems, pods, ready: isReady, lastReadAt: this.deps.clock.now() });
    const { source, where } = snapshot;
    if (hasChanged) this.deps.emit({ type: 'SourceRead', source, where, pods, problems });
  }

  /** Emits an event when a last good manifest replaces a broken one, and when the manifest is good again. */
  private recordLastGood(before: readonly ManifestProblem[], now: readonly ManifestProblem[]): void {
    const [stoodBefore, standsNow] = [lastGoodPods(before), lastGoodPods(now)];
    for (const [uid, { pod, origin }] of standsNow) {
      if (stoodBefore.has(uid)) continue;
      const cause = now.find((problem) => problem.origin === origin && problem.lastGoodPods === undefined);
      const where = [origin, cause?.line].filter((part) => part !== undefined).join(':');
      const message = `Its manifest is broken, its last good revision stays in use: ${where}: ${cause?.message ?? ''}`;
      this.record('Warning', reasons.manifestBroken, message, pod);
    }
    for (const [uid, { pod, origin }] of stoodBefore) {
      if (standsNow.has(uid) || this.deps.uidOf(podFullName(pod)) === undefined) continue;
      this.record('Normal', reasons.manifestGood, `Its manifest is good again: ${origin}`, pod);
    }
  }

  /** Emits an event for the declared pod of this name. Its UID may be from an earlier revision. */
  private record(eventType: 'Normal' | 'Warning', reason: string, message: string, pod: PodRef): void {
    const uid = this.deps.uidOf(podFullName(pod)) ?? pod.uid;
    this.deps.emit({ type: 'Recorded', eventType, reason, message, pod: { ...pod, uid } });
  }
}

/** Returns by UID the pods that run from a last good manifest, with the origin of that manifest. */
function lastGoodPods(problems: readonly ManifestProblem[]): Map<string, { pod: PodRef; origin: string }> {
  return new Map(
    problems.flatMap(({ origin, lastGoodPods: pods = [] }) => pods.map((pod) => [pod.uid, { pod, origin }] as const)),
  );
}

import type { Pod } from '../../api/types.ts';
import { isPodReady } from '../../api/values/pod-conditions.ts';
import { isPodPhaseTerminal } from '../../api/values/pod-phase.ts';
import type { Clock } from '../../clock.ts';
import type { KubeletEvent } from '../../engine/view/events.ts';
import { reasons } from '../../engine/view/reasons.ts';
import type { EngineView, Rejection } from '../../engine/view/snapshot.ts';
import {
  containerOutcome,
  notStarted,
  podOutcome,
  type PodOutcome,
  stuckPods,
  type Until,
} from './run-once-outcome.ts';

/**
 * Milliseconds that a pod must stay Ready to count as Ready, because a container that exits at once is useless.
 */
const readySettleMs = 1000;

/** When a run stops. */
export interface RunEnd {
  until: Until;
  /** The only pod or container that decides the run. */
  decider: { podUID: string; container: string | undefined } | undefined;
  timeoutMs: number;
  /** Stops the run early. */
  signal: AbortSignal;
  clock: Clock;
}

type View = Pick<EngineView, 'snapshot' | 'subscribe'>;

/** Resolves to the outcomes of the pods by UID: of all that count, or of those decided in time. */
export function decideOutcomes(view: View, pods: readonly Pod[], end: RunEnd): Promise<Map<string, PodOutcome>> {
  return new Promise((resolve) => {
    const run = new RunWatch(view, pods, end, () => {
      unsubscribe();
      cancelTimeout();
      end.signal.removeEventListener('abort', finish);
      resolve(run.outcomes);
    });
    const finish = (): void => {
      run.finish();
    };
    const unsubscribe = view.subscribe((event) => {
      run.onEvent(event);
    });
    const cancelTimeout = end.clock.after(end.timeoutMs, finish);
    end.signal.addEventListener('abort', finish, { once: true });
    if (end.signal.aborted) finish();
  });
}

/** Decides the outcomes of pods as the events of the engine arrive. */
class RunWatch {
  readonly outcomes = new Map<string, PodOutcome>();
  /** Ready pods by UID, with a function that cancels the wait. */
  private readonly settling = new Map<string, () => void>();
  private readonly pullFailures = new Map<string, number>();
  private isFinished = false;

  constructor(
    private readonly view: View,
    private readonly pods: readonly Pod[],
    private readonly end: RunEnd,
    private readonly onFinished: () => void,
  ) {}

  onEvent(event: KubeletEvent): void {
    countPulls(event, this.pullFailures);
    if (event.type !== 'PodStatusChanged') return;
    this.update(event.pod.uid);
    this.decideStuck();
  }

  finish(): void {
    if (this.isFinished) return;
    this.isFinished = true;
    for (const cancel of this.settling.values()) cancel();
    this.onFinished();
  }

  private update(uid: string): void {
    const outcome = this.outcomeOf(uid);
    if (outcome?.outcome !== 'ready') {
      this.settling.get(uid)?.();
      this.settling.delete(uid);
    }
    if (outcome === undefined || this.outcomes.has(uid)) return;
    if (outcome.outcome !== 'ready') this.decide(uid, outcome);
    else if (!this.settling.has(uid)) this.settle(uid, outcome);
  }

  private settle(uid: string, outcome: PodOutcome): void {
    const done = (): void => {
      this.decide(uid, outcome);
      this.decideStuck();
    };
    this.settling.set(uid, this.end.clock.after(readySettleMs, done));
  }

  private outcomeOf(uid: string): PodOutcome | undefined {
    const known = this.view.snapshot().pods.find(({ pod }) => pod.metadata.uid === uid);
    // A pod that waits for another one to complete may still run.
    if (known === undefined || waitsForPodEnd(known.rejection)) return undefined;
    const pullFailures = (container: string): number => this.pullFailures.get(`${uid}/${container}`) ?? 0;
    const { until, decider } = this.end;
    if (decider?.podUID !== uid) return podOutcome(known.pod, { until, pullFailures });
    return decider.container === undefined
      ? podOutcome(known.pod, { until: 'completed', pullFailures })
      : containerOutcome(known.pod, decider.container, pullFailures);
  }

  private decide(uid: string, outcome: PodOutcome): void {
    this.outcomes.set(uid, outcome);
    const { decider } = this.end;
    const isOver = decider === undefined ? this.outcomes.size === this.pods.length : this.outcomes.has(decider.podUID);
    if (isOver) this.finish();
  }

  private decideStuck(): void {
    const known = this.view.snapshot().pods.map(({ pod }) => pod);
    for (const { metadata, status } of stuckPods(this.pods.filter(this.mayMatter(known)), known)) {
      if (!this.outcomes.has(metadata.uid)) this.decide(metadata.uid, notStarted(status?.message ?? ''));
    }
  }

  /**
   * The pods for which others may still wait. Without a decider, the first failure decides. With one, other failures do
   * not count, and a failed pod may become Ready after a restart.
   */
  private mayMatter(known: readonly Pod[]): (pod: Pod) => boolean {
    if (this.end.decider === undefined) return ({ metadata }) => !this.outcomes.has(metadata.uid);
    const statuses = new Map(known.map(({ metadata, status }) => [metadata.uid, status]));
    return ({ metadata }) => {
      const status = statuses.get(metadata.uid);
      const isOver = isPodPhaseTerminal(status?.phase);
      return !isOver && !isPodReady(status) && this.outcomes.get(metadata.uid)?.outcome !== 'not started';
    };
  }
}

/** Counts the failed pulls of containers since the last success, by pod UID and container name. */
function countPulls(event: KubeletEvent, failures: Map<string, number>): void {
  if (event.type !== 'Recorded' || event.pod === undefined) return;
  const key = `${event.pod.uid}/${event.containerName ?? ''}`;
  if (event.reason === reasons.pulled) failures.delete(key);
  if (event.cause === 'imagePull' || (event.cause === 'imageCredentials' && event.reason === reasons.failed)) {
    failures.set(key, (failures.get(key) ?? 0) + 1);
  }
}

/** Devices may also become free when a pod stops. */
function waitsForPodEnd(rejection: Rejection | undefined): boolean {
  return rejection?.retryOn === 'podEnd' || rejection?.retryOn === 'deviceChange';
}

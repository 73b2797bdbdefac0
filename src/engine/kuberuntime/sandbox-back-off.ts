import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import { BackOff } from '../../flow/back-off.ts';
import type { WallClockHistory } from '../../flow/wall-clock-history.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import { type SandboxPause, sandboxPause } from './actions/sandbox-pause.ts';

interface Deps {
  clock: Clock;
  wallClock: Pick<WallClockHistory, 'monotonicAt'>;
}

/** Back-off of sandboxes that break within a second, by pod UID. */
export class SandboxBackOff {
  private readonly backOff: BackOff;
  /** The newest broken sandbox by pod UID. */
  private readonly broken = new Map<string, string>();

  constructor(private readonly deps: Deps) {
    this.backOff = new BackOff(deps.clock, { initialMs: 1000 });
  }

  /** Returns the pause before the pod's sandbox is replaced. Returns undefined if it may be replaced now. */
  pause(pod: Pod, podStatus: RuntimePodStatus): SandboxPause | undefined {
    const first = this.compute(pod, podStatus);
    if (first === undefined || first.fault === 'changed') return first;
    this.count(pod.metadata.uid, podStatus.sandboxStatuses[0]?.id ?? '');
    return this.compute(pod, podStatus) ?? first;
  }

  private compute(pod: Pod, podStatus: RuntimePodStatus): SandboxPause | undefined {
    const { wallClock, clock } = this.deps;
    return sandboxPause(pod, podStatus, {
      monotonicAt: (stamp) => wallClock.monotonicAt(stamp),
      nowMonotonic: clock.monotonic(),
      backOffMs: this.backOff.get(pod.metadata.uid),
    });
  }

  private count(uid: string, sandboxID: string): void {
    if (this.broken.get(uid) === sandboxID) return;
    this.backOff.gc();
    for (const known of this.broken.keys()) if (this.backOff.get(known) === 0) this.broken.delete(known);
    this.broken.set(uid, sandboxID);
    this.backOff.next(uid, this.deps.clock.monotonic());
  }
}

import type { Clock } from '../../clock.ts';

/**
 * Due times of the pods' next syncs. A later entry of a pod replaces the earlier one. It calls back when a pod is due,
 * while the kubelet polls every second. kubelet: util/queue/work_queue.go
 */
export class WorkQueue {
  private readonly timers = new Map<string, { dueAtMonotonic: number; cancel: () => void }>();

  constructor(private readonly deps: { clock: Clock; onDue: (uid: string) => void }) {}

  enqueue(uid: string, delayMs: number): void {
    const { clock, onDue } = this.deps;
    this.timers.get(uid)?.cancel();
    const cancel = clock.after(delayMs, () => {
      this.timers.delete(uid);
      onDue(uid);
    });
    this.timers.set(uid, { dueAtMonotonic: clock.monotonic() + delayMs, cancel });
  }

  remove(uid: string): void {
    this.timers.get(uid)?.cancel();
    this.timers.delete(uid);
  }

  /** Milliseconds since the epoch, by the wall clock as it is set now. */
  dueAt(uid: string): number | undefined {
    const { clock } = this.deps;
    const timer = this.timers.get(uid);
    return timer && Math.round(clock.now() + timer.dueAtMonotonic - clock.monotonic());
  }

  stop(): void {
    for (const uid of [...this.timers.keys()]) this.remove(uid);
  }
}

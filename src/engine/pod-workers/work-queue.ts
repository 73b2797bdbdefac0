import type { Clock } from '../../clock.ts';

/**
 * Due times of the pods' next syncs. A later entry of a pod replaces the earlier one. It calls back when a pod is due,
 * while the kubelet polls every second. kubelet: util/queue/work_queue.go
 */
export class WorkQueue {
  private readonly clock: Clock;
  private readonly onDue: (uid: string) => void;
  private readonly timers = new Map<string, { dueAt: number; cancel: () => void }>();

  constructor(deps: { clock: Clock; onDue: (uid: string) => void }) {
    this.clock = deps.clock;
    this.onDue = deps.onDue;
  }

  enqueue(uid: string, delayMs: number): void {
    this.timers.get(uid)?.cancel();
    const cancel = this.clock.after(delayMs, () => {
      this.timers.delete(uid);
      this.onDue(uid);
    });
    this.timers.set(uid, { dueAt: this.clock.now() + delayMs, cancel });
  }

  remove(uid: string): void {
    this.timers.get(uid)?.cancel();
    this.timers.delete(uid);
  }

  /** Milliseconds since the epoch. */
  dueAt(uid: string): number | undefined {
    return this.timers.get(uid)?.dueAt;
  }

  stop(): void {
    for (const uid of [...this.timers.keys()]) this.remove(uid);
  }
}

/**
 * At most one piece of work at a time for each pod, and at most one that waits; nobody waits for another pod.
 *
 * INVARIANT: work that waits begins after it was asked for, so whoever asks meanwhile is served by it too.
 */
export class PodLanes {
  private readonly underWay = new Map<string, Promise<void>>();
  private readonly waiting = new Map<string, Promise<void>>();

  isBusy(uid: string): boolean {
    return this.underWay.has(uid) || this.waiting.has(uid);
  }

  /** Runs the work now, or after what is under way. It must not reject. */
  run(uid: string, work: () => Promise<void>): Promise<void> {
    const waiting = this.waiting.get(uid);
    if (waiting !== undefined) return waiting;
    const underWay = this.underWay.get(uid);
    if (underWay === undefined) return this.begin(uid, work);
    const next = underWay.then(() => {
      this.waiting.delete(uid);
      return this.begin(uid, work);
    });
    this.waiting.set(uid, next);
    return next;
  }

  private begin(uid: string, work: () => Promise<void>): Promise<void> {
    const done = work().finally(() => {
      this.underWay.delete(uid);
    });
    this.underWay.set(uid, done);
    return done;
  }
}

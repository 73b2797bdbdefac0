import type { Clock } from '../clock.ts';

/** kubelet: kubelet.go housekeepingPeriod */
const periodMs = 2000;

/** When to clean up: every two seconds, and when asked. Requests that nobody has taken yet are one. */
export class Housekeeping {
  private readonly clock: Clock;
  private readonly onDue: () => void;
  private requested = false;
  private cancel = (): void => undefined;

  constructor(deps: { clock: Clock; onDue: () => void }) {
    this.clock = deps.clock;
    this.onDue = deps.onDue;
  }

  start(): void {
    this.cancel = this.clock.after(periodMs, () => {
      this.start();
      this.request();
    });
  }

  stop(): void {
    this.cancel();
  }

  request(): void {
    if (this.requested) return;
    this.requested = true;
    this.onDue();
  }

  /** It is being done; the next request counts again. */
  taken(): void {
    this.requested = false;
  }
}

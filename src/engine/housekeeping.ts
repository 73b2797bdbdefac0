import type { Clock } from '../clock.ts';

/** kubelet: kubelet.go housekeepingPeriod */
const periodMs = 2000;

/** Requests a clean-up every two seconds and on demand. Requests before the next clean-up count as one. */
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

  /** Called when the clean-up begins. Later requests count again. */
  taken(): void {
    this.requested = false;
  }
}

import type { Clock } from '../clock.ts';
import type { EventBus } from './view/event-bus.ts';
import type { KubeletEvent } from './view/events.ts';

/** kubelet: kubelet.go housekeepingPeriod */
const periodMs = 2000;
/** Periods between clean-ups while nothing changes. The kubelet makes one in each. */
const calmPeriods = 5;

interface Deps {
  clock: Clock;
  events: Pick<EventBus, 'subscribe'>;
  /** Called every two seconds. */
  onPeriod: () => void;
  /** Requests a clean-up. */
  onDue: () => void;
}

/**
 * Requests a clean-up within two seconds after every event, every ten seconds without one, and on demand. Requests
 * before the next clean-up count as one.
 */
export class Housekeeping {
  private requested = false;
  private isCalm = false;
  /** Since the last clean-up. */
  private periods = 0;
  private cancel = (): void => undefined;
  private unsubscribe = (): void => undefined;

  constructor(private readonly deps: Deps) {}

  start(): void {
    this.unsubscribe = this.deps.events.subscribe((event) => {
      if (!isRoutine(event)) this.stir();
    });
    this.wait();
  }

  stop(): void {
    this.cancel();
    this.unsubscribe();
  }

  request(): void {
    if (this.requested) return;
    this.requested = true;
    this.deps.onDue();
  }

  /** Has the next clean-up come within two seconds, also without an event. */
  stir(): void {
    this.isCalm = false;
  }

  /** Called when the clean-up begins. Later requests and events count again. */
  taken(): void {
    this.requested = false;
    this.isCalm = true;
    this.periods = 0;
  }

  private wait(): void {
    this.cancel = this.deps.clock.after(periodMs, () => {
      this.wait();
      this.deps.onPeriod();
      this.periods += 1;
      if (!this.isCalm || this.periods >= calmPeriods) this.request();
    });
  }
}

/** True for an event of a pod or source that stays as it is. */
function isRoutine({ type }: KubeletEvent): boolean {
  return type === 'SyncStarted' || type === 'SyncFinished' || type === 'SourceRead';
}

import type { Clock } from '../../clock.ts';
import { untilTick } from '../../flow/ticks.ts';
import type { EventBus } from '../view/event-bus.ts';
import type { KubeletEvent } from '../view/events.ts';

/** kubelet: kubelet.go housekeepingPeriod */
const periodMs = 2000;
/** Clean-up period while nothing changes. */
const calmPeriodMs = 10_000;

interface Deps {
  clock: Clock;
  events: Pick<EventBus, 'subscribe'>;
  /** Called at the end of every period. */
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
  private isStopped = false;
  private cancel = (): void => undefined;
  private unsubscribe = (): void => undefined;

  constructor(private readonly deps: Deps) {}

  start(): void {
    this.unsubscribe = this.deps.events.subscribe((event) => {
      if (!isRoutine(event)) this.scheduleSoon();
    });
    this.wait();
  }

  stop(): void {
    this.isStopped = true;
    this.cancel();
    this.unsubscribe();
  }

  request(): void {
    if (this.requested) return;
    this.requested = true;
    this.deps.onDue();
  }

  /** Schedules the next clean-up within two seconds, even without an event. */
  scheduleSoon(): void {
    if (!this.isCalm) return;
    this.isCalm = false;
    this.wait();
  }

  /** Call it when the clean-up starts. Later requests and events count again. */
  started(): void {
    this.requested = false;
    this.isCalm = true;
    this.wait();
  }

  private wait(): void {
    const { clock, onPeriod } = this.deps;
    this.cancel();
    if (this.isStopped) return;
    this.cancel = clock.after(untilTick(clock, this.isCalm ? calmPeriodMs : periodMs), () => {
      this.wait();
      onPeriod();
      this.request();
    });
  }
}

/** True if the event does not change a pod or source. */
function isRoutine({ type }: KubeletEvent): boolean {
  return type === 'SyncStarted' || type === 'SyncFinished' || type === 'SourceRead';
}

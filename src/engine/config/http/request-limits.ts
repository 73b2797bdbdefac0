import { setMaxListeners } from 'node:events';
import type { Clock } from '../../../clock.ts';
import { HTTPFailure } from './http-failure.ts';

/** A server silent for this long is given up. kubelet: config/http.go NewSourceURL has this limit for the whole */
const stallMs = 10_000;
/** So is one that is not done after this long, though it sends something now and then. */
const totalMs = 60_000;

/** The time that one check of a URL may take, redirects and signature included. Call `end` when it is over. */
export class RequestLimits {
  /** Aborted with an HTTPFailure when the time is over, or with the outer signal. */
  readonly signal: AbortSignal;
  private readonly clock: Clock;
  private readonly over = new AbortController();
  private readonly cancelTotal: () => void;
  private cancelStall: () => void;

  constructor(clock: Clock, outer: AbortSignal) {
    this.clock = clock;
    this.signal = AbortSignal.any([outer, this.over.signal]);
    // Every redirect listens to it.
    setMaxListeners(0, this.signal);
    this.cancelTotal = clock.after(totalMs, () => {
      this.giveUp(`the answer was not complete after ${totalMs / 1000} s`);
    });
    this.cancelStall = this.armStall();
  }

  /** The server sent something. */
  progress(): void {
    this.cancelStall();
    this.cancelStall = this.armStall();
  }

  end(): void {
    this.cancelTotal();
    this.cancelStall();
  }

  private armStall(): () => void {
    return this.clock.after(stallMs, () => {
      this.giveUp(`the server sent nothing for ${stallMs / 1000} s`);
    });
  }

  private giveUp(message: string): void {
    const hint = 'Check the load of the server and the network; it is asked again by itself.';
    this.over.abort(new HTTPFailure('no answer', message, { hint }));
  }
}

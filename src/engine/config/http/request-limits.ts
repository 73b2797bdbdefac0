import { setMaxListeners } from 'node:events';
import type { Clock } from '../../../clock.ts';
import { HTTPFailure } from './http-failure.ts';

/** The longest silence of a server. kubelet: config/http.go NewSourceURL has this limit for the whole request */
const stallMs = 10_000;
/** The longest time for the whole check, because a slow server may never be silent. */
const totalMs = 60_000;

/** Time limits of one check of a URL, redirects and signature included. Call `end` after the check. */
export class RequestLimits {
  /** Aborted with an HTTPFailure at a limit, or with the outer signal. */
  readonly signal: AbortSignal;
  private readonly clock: Clock;
  private readonly over = new AbortController();
  private readonly cancelTotal: () => void;
  private cancelStall: () => void;

  constructor(clock: Clock, outer: AbortSignal) {
    this.clock = clock;
    this.signal = AbortSignal.any([outer, this.over.signal]);
    // Each redirect adds listeners, and more than ten would cause a warning.
    setMaxListeners(0, this.signal);
    this.cancelTotal = clock.after(totalMs, () => {
      this.giveUp(`the answer was not complete after ${totalMs / 1000} s`);
    });
    this.cancelStall = this.armStall();
  }

  /** Call when the server sent something. */
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
    const hint = 'Check the load of the server and the network. The request is repeated automatically.';
    this.over.abort(new HTTPFailure('no answer', message, { hint }));
  }
}

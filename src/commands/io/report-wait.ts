import type { Writable } from 'node:stream';
import { type Clock, systemClock } from '../../clock.ts';
import { visible } from '../../text/visible-text.ts';

/** A shorter wait is not worth a line. */
const firstReportMs = 3000;
const laterReportMs = 30_000;

/**
 * Prints what a command waits for, after three seconds and then every 30 seconds. Prints nothing while `text` returns
 * undefined. Returns a function that stops the reports.
 */
export function reportWait(stderr: Writable, text: () => string | undefined, clock: Clock = systemClock): () => void {
  let cancel = (): void => undefined;
  const reportAfter = (ms: number): void => {
    cancel = clock.after(ms, () => {
      const waiting = text();
      if (waiting !== undefined) stderr.write(`${visible(waiting)}\n`);
      reportAfter(laterReportMs);
    });
  };
  reportAfter(firstReportMs);
  return () => {
    cancel();
  };
}

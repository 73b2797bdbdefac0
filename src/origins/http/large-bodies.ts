import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from '../../clock.ts';
import { inTime } from '../../flow/in-time.ts';
import { unlessAborted } from '../../flow/unless-aborted.ts';

/** Wait for the end of another large body, in milliseconds. Its server may be slow on purpose. */
export const maxTurnWaitMs = 5000;

/** Bytes of large bodies between two collections. */
const collectEveryBytes = 2 * 1024 * 1024;

/**
 * Bounds the memory for large bodies of all servers. They are read one after the other. Node copies each part, and V8
 * would keep some 30 MB of such copies, so young objects are collected in between.
 */
export class LargeBodies {
  private lastEnd: Promise<void> = Promise.resolve();
  private bytesSinceCollection = 0;
  private collect: (() => void) | undefined;

  constructor(private readonly clock: Clock) {}

  /** Resolves when it is this body's turn. The caller must call the returned function at its end. */
  async turn(signal: AbortSignal): Promise<() => void> {
    const before = this.lastEnd;
    let end = (): void => undefined;
    this.lastEnd = new Promise((resolve) => {
      end = resolve;
    });
    await inTime(this.clock, maxTurnWaitMs, unlessAborted(before, signal)).catch(() => undefined);
    if (signal.aborted) end();
    signal.throwIfAborted();
    return end;
  }

  /** Must be called for each part of a large body. */
  received(bytes: number): void {
    this.bytesSinceCollection += bytes;
    if (this.bytesSinceCollection < collectEveryBytes) return;
    this.bytesSinceCollection = 0;
    this.collect ??= youngCollection();
    this.collect();
  }
}

/** Returns a function that collects young objects, which takes a millisecond or two. */
function youngCollection(): () => void {
  setFlagsFromString('--expose-gc');
  // A context has the function only if it was made after the flag was set.
  const collect = runInNewContext('gc') as (options: { type: 'minor' }) => void;
  return () => {
    collect({ type: 'minor' });
  };
}

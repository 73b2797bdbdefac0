import { Duplex } from 'node:stream';
import { type Clock, systemClock } from '../clock.ts';
import { FrameGuard } from './frame-guard.ts';

/** Node reads at most 64 KiB at once. A read of more than this many bytes belongs to a long message. */
const longReadBytes = 16 * 1024;

/** All untrusted servers share this rate: 16 MB per second. Their messages have at most 1 MiB. */
const bytesPerMs = 16 * 1024;
/** Longest pause after a long read. Connections that closed in the meantime keep their share of it. */
const maxRestMs = 1000;

/** Limits how fast the sockets that share it are read. */
export class ReadingPace {
  /** When the next of these sockets may be read. */
  private freeAtMonotonic = -Infinity;

  constructor(private readonly clock: Pick<Clock, 'monotonic' | 'after'>) {}

  /** Calls `readOn` when the socket may be read again after this many bytes. The returned function cancels the call. */
  rest(bytes: number, readOn: () => void): () => void {
    const nowMonotonic = this.clock.monotonic();
    const free = Math.max(this.freeAtMonotonic, nowMonotonic) + bytes / bytesPerMs;
    this.freeAtMonotonic = Math.min(free, nowMonotonic + maxRestMs);
    return this.clock.after(this.freeAtMonotonic - nowMonotonic, readOn);
  }
}

const sharedPace = new ReadingPace(systemClock);

/**
 * Returns the socket as a stream that passes on only what a `FrameGuard` accepts. Other frames close it with an error.
 * A server that sends without end is read slowly, because it would otherwise use all the time of this process.
 */
export function guardedSocket(socket: Duplex, pace: ReadingPace = sharedPace): Duplex {
  const guard = new FrameGuard();
  let isWanted = true;
  let endRest: (() => void) | undefined;
  const readOn = (): void => {
    endRest = undefined;
    if (isWanted) socket.resume();
  };
  const guarded = new Duplex({
    // While HTTP/2 does not read, the socket is not read either. A byte limit would not limit the memory: a frame of 9
    // bytes keeps the 64 KiB buffer that it was read into.
    readableHighWaterMark: 0,
    read: () => {
      isWanted = true;
      if (endRest === undefined) socket.resume();
    },
    write: (bytes: Buffer, _encoding, done) => {
      socket.write(bytes, done);
    },
    final: (done) => {
      socket.end(done);
    },
    destroy: (error, done) => {
      endRest?.();
      socket.destroy();
      done(error);
    },
  });
  socket.on('data', (bytes: Buffer) => {
    try {
      for (const safe of guard.accept(bytes)) isWanted = guarded.push(safe);
    } catch (error) {
      guarded.destroy(error as Error);
    }
    if (guarded.destroyed) return;
    if (bytes.length > longReadBytes) endRest ??= pace.rest(bytes.length, readOn);
    if (!isWanted || endRest !== undefined) socket.pause();
  });
  // The reader learns of the close, too.
  guarded.on('error', () => undefined);
  // Otherwise Node 20 keeps the connection forever if the server closed it with bytes that are not HTTP/2: the
  // listeners hold the error, whose stack trace holds the connection.
  guarded.once('close', () => guarded.removeAllListeners().on('error', () => undefined));
  socket.once('end', () => {
    guarded.push(null);
  });
  socket.once('error', (error) => guarded.destroy(error));
  socket.once('close', () => guarded.destroy());
  return guarded;
}

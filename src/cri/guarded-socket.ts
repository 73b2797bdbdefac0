import { Duplex } from 'node:stream';
import { type Clock, systemClock } from '../clock.ts';
import { FrameGuard } from './frame-guard.ts';

/** Node reads at most 64 KiB at once. A read of more than this is part of something long. */
const longReadBytes = 16 * 1024;

/** All servers that are not trusted share this pace, 16 MB a second. Messages of theirs have at most 1 MiB. */
const bytesPerMs = 16 * 1024;
/** Longest rest after such a read. Connections that ended meanwhile keep their turns. */
const maxRestMs = 1000;

/** How fast sockets that share it are read. */
export class ReadingPace {
  /** When the next of these sockets may be read. */
  private freeAtMonotonic = -Infinity;

  constructor(private readonly clock: Pick<Clock, 'monotonic' | 'after'>) {}

  /** Calls `readOn` when the socket may be read again after so many bytes, unless the returned function is called. */
  rest(bytes: number, readOn: () => void): () => void {
    const nowMonotonic = this.clock.monotonic();
    const free = Math.max(this.freeAtMonotonic, nowMonotonic) + bytes / bytesPerMs;
    this.freeAtMonotonic = Math.min(free, nowMonotonic + maxRestMs);
    return this.clock.after(this.freeAtMonotonic - nowMonotonic, readOn);
  }
}

const sharedPace = new ReadingPace(systemClock);

/**
 * The socket, whose reader gets only what a `FrameGuard` passes on. Other frames end it with an error. Servers that
 * send without end are read slowly, because they would take all the time of this process.
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
    // While HTTP/2 does not read, the socket is not read either. A limit of bytes would be no limit of memory: a frame
    // of 9 bytes keeps the read of 64 KiB that it came with.
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
  // The close reaches the reader, too.
  guarded.on('error', () => undefined);
  // Otherwise Node 20 keeps the connection for ever if the server ended it with bytes that are no HTTP/2: the listeners
  // hold the error, whose stack trace holds the connection.
  guarded.once('close', () => guarded.removeAllListeners().on('error', () => undefined));
  socket.once('end', () => {
    guarded.push(null);
  });
  socket.once('error', (error) => guarded.destroy(error));
  socket.once('close', () => guarded.destroy());
  return guarded;
}

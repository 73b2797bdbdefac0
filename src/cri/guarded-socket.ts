import { Duplex } from 'node:stream';
import { notePassingBytes } from '../passing-bytes.ts';
import { FrameGuard } from './frame-guard.ts';

/** Node reads at most 64 KiB at once. A read of more than this is part of something long. */
const longReadBytes = 16 * 1024;

/** How fast long things are read. Connections with one pace share it, each gets its turn. */
export class Pace {
  /** Milliseconds of `performance.now`. */
  private freeAt = 0;

  constructor(private readonly bytesPerMs: number) {}

  /** Milliseconds that the connection must rest after a read of so many bytes. */
  restMs(bytes: number): number {
    const now = performance.now();
    this.freeAt = Math.max(this.freeAt, now) + bytes / this.bytesPerMs;
    return this.freeAt - now;
  }
}

/** All servers that are not trusted together get 16 MiB a second. Messages of theirs have at most 1 MiB. */
const untrustedPace = new Pace(16 * 1024);

/**
 * The socket, whose reader gets only what a `FrameGuard` passes on. Other frames end it with an error. Servers that
 * send without end are read slowly, because they would take all the time of this process.
 */
export function guardedSocket(socket: Duplex, pace = untrustedPace): Duplex {
  const guard = new FrameGuard();
  let isWanted = true;
  let rest: NodeJS.Timeout | undefined;
  const readOn = (): void => {
    rest = undefined;
    if (isWanted) socket.resume();
  };
  const guarded = new Duplex({
    // While HTTP/2 does not read, the socket is not read either. A limit of bytes would be no limit of memory: a frame
    // of 9 bytes keeps the read of 64 KiB that it came with.
    readableHighWaterMark: 0,
    read: () => {
      isWanted = true;
      if (rest === undefined) socket.resume();
    },
    write: (bytes: Buffer, _encoding, done) => {
      socket.write(bytes, done);
    },
    final: (done) => {
      socket.end(done);
    },
    destroy: (error, done) => {
      clearTimeout(rest);
      socket.destroy();
      done(error);
    },
  });
  socket.on('data', (bytes: Buffer) => {
    notePassingBytes(bytes.length);
    if (bytes.length > longReadBytes) rest ??= setTimeout(readOn, pace.restMs(bytes.length)).unref();
    try {
      for (const safe of guard.take(bytes)) isWanted = guarded.push(safe);
    } catch (error) {
      guarded.destroy(error as Error);
    }
    if (!isWanted || rest !== undefined) socket.pause();
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

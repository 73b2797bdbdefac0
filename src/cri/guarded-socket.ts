import { Duplex } from 'node:stream';
import { FrameGuard } from './frame-guard.ts';

/** The socket, whose reader gets only what a `FrameGuard` passes on. Other frames end it with an error. */
export function guardedSocket(socket: Duplex): Duplex {
  const guard = new FrameGuard();
  const guarded = new Duplex({
    // While HTTP/2 does not read, the socket is not read either. A limit of bytes would be no limit of memory: a frame
    // of 9 bytes keeps the read of 64 KiB that it came with.
    readableHighWaterMark: 0,
    read: () => {
      socket.resume();
    },
    write: (bytes: Buffer, _encoding, done) => {
      socket.write(bytes, done);
    },
    final: (done) => {
      socket.end(done);
    },
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.on('data', (bytes: Buffer) => {
    try {
      for (const safe of guard.take(bytes)) if (!guarded.push(safe)) socket.pause();
    } catch (error) {
      guarded.destroy(error as Error);
    }
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

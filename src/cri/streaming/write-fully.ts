import type { Writable } from 'node:stream';

/** Resolves when `stream` has accepted the bytes. Rejects if it has failed, for example with `EPIPE`. */
export function writeFully(stream: Writable, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(bytes, (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
}

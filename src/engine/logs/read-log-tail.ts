import { hasCode } from '../../errors.ts';
import { readLogs } from './read-logs.ts';

/**
 * Where the last lines are looked for. A runtime cuts what a container writes into entries of 16 KiB, so this holds what the
 * callers show many times over. Reading more for each container that failed made the agent grow by tens of megabytes.
 */
const windowBytes = 256 * 1024;

interface TailLimits {
  maxLines: number;
  /** Of what the container wrote. */
  maxBytes: number;
}

/** What a container wrote at the end of its log, both limits kept; nothing when it has no log that can be read. */
export async function readLogTail(path: string, { maxLines, maxBytes }: TailLimits): Promise<Uint8Array> {
  let tail: Buffer = Buffer.alloc(0);
  try {
    await readLogs({ path, tailLines: maxLines, tailBytes: windowBytes }, (bytes) => {
      tail = bytes.length >= maxBytes ? bytes : Buffer.concat([tail, bytes]);
      // Copied, as a part of a buffer keeps all of it.
      if (tail.length > maxBytes) tail = Buffer.from(tail.subarray(-maxBytes));
      return Promise.resolve();
    });
  } catch (error) {
    if (!hasCode(error, 'ENOENT') && tail.length === 0) return new Uint8Array();
  }
  return tail;
}

import { hasCode } from '../../errors.ts';
import { readLogs } from './read-logs.ts';

/**
 * How much of a log's end is searched for its last lines. A runtime cuts output into entries of 16 KiB, so this holds
 * many times what callers show. A larger window made the agent grow by tens of megabytes with many failing containers.
 */
const windowBytes = 256 * 1024;

interface TailLimits {
  maxLines: number;
  /** Limit on the container's output. */
  maxBytes: number;
}

/** Reads the end of a container's output, within both limits. Empty if its log is missing or unreadable. */
export async function readLogTail(path: string, { maxLines, maxBytes }: TailLimits): Promise<Uint8Array> {
  let tail: Buffer = Buffer.alloc(0);
  try {
    await readLogs({ path, tailLines: maxLines, tailBytes: windowBytes }, (bytes) => {
      tail = bytes.length >= maxBytes ? bytes : Buffer.concat([tail, bytes]);
      // Copies, because a slice would keep the whole buffer in memory.
      if (tail.length > maxBytes) tail = Buffer.from(tail.subarray(-maxBytes));
      return Promise.resolve();
    });
  } catch (error) {
    if (!hasCode(error, 'ENOENT') && tail.length === 0) return new Uint8Array();
  }
  return tail;
}

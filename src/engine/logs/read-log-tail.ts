import { hasCode } from '../../errors.ts';
import { readLogs } from './read-logs.ts';

/** Where the last lines are looked for: 80 entries of a runtime have not more. */
const maxBytes = 2 * 1024 * 1024;

/** What a container wrote in the last lines of its log; nothing when it has no log that can be read. */
export async function readLogTail(path: string, maxLines: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  try {
    await readLogs({ path, tailLines: maxLines, tailBytes: maxBytes }, (bytes) => {
      chunks.push(Buffer.from(bytes));
      return Promise.resolve();
    });
  } catch (error) {
    if (!hasCode(error, 'ENOENT') && chunks.length === 0) return new Uint8Array();
  }
  return Buffer.concat(chunks);
}

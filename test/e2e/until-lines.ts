import { watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { deadlineMs } from './deadline.ts';

/**
 * Resolves to the lines of a file in an existing folder once it has this many. Needed because a running container may
 * not have reached the first line of its script.
 */
export async function untilLines(path: string, count: number): Promise<string[]> {
  const deadline = AbortSignal.timeout(deadlineMs);
  let lines: string[] = [];
  await new Promise<void>((resolve, reject) => {
    const watcher = watch(dirname(path));
    const look = async (): Promise<void> => {
      lines = (await readFile(path, 'utf8').catch(() => '')).split('\n').slice(0, -1);
      if (lines.length < count) return;
      watcher.close();
      resolve();
    };
    watcher.on('change', () => void look());
    deadline.addEventListener('abort', () => {
      watcher.close();
      reject(new Error(`${path} never had ${count} lines: ${JSON.stringify(lines)}`));
    });
    // The lines may have been there before the watch began.
    void look();
  });
  return lines;
}

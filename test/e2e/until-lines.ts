import { watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';

const deadlineMs = 120_000;

/**
 * Resolves with the lines of a file of an existing folder once it has so many. A container that runs has not come to
 * the first line of its script yet.
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
    // They may have been there before the watch.
    void look();
  });
  return lines;
}

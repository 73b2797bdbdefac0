import { existsSync, watch } from 'node:fs';
import { dirname } from 'node:path';
import { deadlineMs } from './deadline.ts';

/** Resolves when nothing exists at this path any more, as the kernel reports it. */
export async function untilGone(path: string): Promise<void> {
  const deadline = AbortSignal.timeout(deadlineMs);
  await new Promise<void>((resolve, reject) => {
    const watcher = watch(dirname(path));
    const look = (): void => {
      if (existsSync(path)) return;
      watcher.close();
      resolve();
    };
    watcher.on('change', look);
    deadline.addEventListener('abort', () => {
      watcher.close();
      reject(new Error(`${path} never went`));
    });
    // It may have been removed before the watch began.
    look();
  });
}

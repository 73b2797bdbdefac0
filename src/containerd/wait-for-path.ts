import { existsSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/** Resolves when a file of this path exists, as the kernel tells; its folder must exist. Rejects with the signal's reason. */
export function waitForPath(path: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void): void => {
      watcher.close();
      signal.removeEventListener('abort', abort);
      settle();
    };
    const abort = (): void => {
      finish(() => {
        reject(signal.reason as Error);
      });
    };
    const look = (): void => {
      if (existsSync(path)) finish(resolve);
    };
    const watcher = watch(dirname(path), (_, name) => {
      if (name === null || name === basename(path)) look();
    });
    watcher.on('error', (error) => {
      finish(() => {
        reject(error);
      });
    });
    signal.addEventListener('abort', abort, { once: true });
    // It may have come before the watch; the signal may have too.
    if (signal.aborted) abort();
    else look();
  });
}

import { existsSync, type FSWatcher, watch, watchFile, unwatchFile } from 'node:fs';
import { basename, dirname } from 'node:path';
import { isOutOfWatches, toError } from '../errors.ts';

/** Between two looks where the kernel has no watch left. */
const unwatchedPeriodMs = 200;

/**
 * Resolves when a file of this path exists, as the kernel tells, or a look from time to time if it has no watch left. The
 * folder of the file must exist. Rejects with the signal's reason.
 */
export function waitForPath(path: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void): void => {
      watcher?.close();
      unwatchFile(path, look);
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
    const fail = (error: unknown): void => {
      if (isOutOfWatches(error)) {
        watchFile(path, { interval: unwatchedPeriodMs }, look);
        return;
      }
      finish(() => {
        reject(toError(error));
      });
    };
    let watcher: FSWatcher | undefined;
    try {
      watcher = watch(dirname(path), (_, name) => {
        if (name === null || name === basename(path)) look();
      }).on('error', fail);
    } catch (error) {
      fail(error);
    }
    signal.addEventListener('abort', abort, { once: true });
    // It may have come before the watch; the signal may have too.
    if (signal.aborted) abort();
    else look();
  });
}

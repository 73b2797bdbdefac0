import { existsSync, type FSWatcher, watch, watchFile, unwatchFile } from 'node:fs';
import { basename, dirname } from 'node:path';
import { isOutOfWatches, toError } from '../errors.ts';

/** Milliseconds between two checks if the kernel has no watch left. */
const unwatchedPeriodMs = 200;

/**
 * Resolves when this path exists. Watches its folder, which must exist, or polls if the kernel has no watch left.
 * Rejects with the signal's reason.
 */
export function waitForPath(path: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void): void => {
      watcher?.close();
      unwatchFile(path, check);
      signal.removeEventListener('abort', abort);
      settle();
    };
    const abort = (): void => {
      finish(() => {
        reject(signal.reason as Error);
      });
    };
    const check = (): void => {
      if (existsSync(path)) finish(resolve);
    };
    const fail = (error: unknown): void => {
      if (isOutOfWatches(error)) {
        watchFile(path, { interval: unwatchedPeriodMs }, check);
        return;
      }
      finish(() => {
        reject(toError(error));
      });
    };
    let watcher: FSWatcher | undefined;
    // Not watched if it exists, because a folder on a failing disk may not be watchable.
    if (existsSync(path) && !signal.aborted) {
      resolve();
      return;
    }
    try {
      watcher = watch(dirname(path), (_, name) => {
        if (name === null || name === basename(path)) check();
      }).on('error', fail);
    } catch (error) {
      fail(error);
    }
    signal.addEventListener('abort', abort, { once: true });
    // The file may have appeared, or the signal may have been aborted, before the watch began.
    if (signal.aborted) abort();
    else check();
  });
}

import { watch, type FSWatcher } from 'node:fs';
import { UserError, hasCode } from '../../errors.ts';

/** Reports changes to files in directories, from inotify. */
export class ChangeWatch {
  private readonly watchers: FSWatcher[] = [];
  private changed = false;
  private error: Error | undefined;
  private wakeUp: (() => void) | undefined;
  /** True if a file was added, removed or renamed since the last reset to false. */
  entriesChanged = false;

  constructor(directories: Iterable<string>) {
    try {
      for (const directory of directories) this.watch(directory);
    } catch (error) {
      this.close();
      throw watchFailure(error);
    }
  }

  /** Resolves at the first change since the last call; at once if one happened already. Rejects if watching failed. */
  async next(): Promise<void> {
    if (!this.changed) {
      await new Promise<void>((resolve) => {
        this.wakeUp = resolve;
      });
    }
    this.changed = false;
    if (this.error !== undefined) throw watchFailure(this.error);
  }

  /** Resolves `next` like a change does. */
  wake(): void {
    this.changed = true;
    this.wakeUp?.();
    this.wakeUp = undefined;
  }

  close(): void {
    for (const watcher of this.watchers) watcher.close();
  }

  private watch(directory: string): void {
    const watcher = watch(directory, (eventType) => {
      if (eventType === 'rename') this.entriesChanged = true;
      this.wake();
    });
    watcher.on('error', (error) => {
      this.error = error;
      this.wake();
    });
    this.watchers.push(watcher);
  }
}

function watchFailure(error: unknown): unknown {
  if (!hasCode(error, 'ENOSPC', 'EMFILE')) return error;
  return new UserError('cannot watch the container log: the limit of inotify watches or instances is reached', {
    hint: 'Raise fs.inotify.max_user_instances and fs.inotify.max_user_watches with sysctl.',
    cause: error,
  });
}

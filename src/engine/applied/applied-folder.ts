import { readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../../clock.ts';
import { withFileLock } from '../../files/file-lock.ts';
import { Semaphore } from '../../flow/semaphore.ts';
import { listFolder } from '../../files/list-folder.ts';
import { ifPresent } from '../../files/if-present.ts';
import type { Logger } from '../../logger.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { replaceFile, syncFolder } from '../../files/write-file-atomic.ts';
import { readRegularFile } from '../../files/regular-file.ts';

interface Deps {
  rootDir: string;
  clock: Clock;
  logger: Pick<Logger, 'warn'>;
}

/** New contents by file name; null to delete a file. */
export type FolderChange = ReadonlyMap<string, string | null>;

/** A file of the folder. */
interface AppliedFile {
  path: string;
  text: string;
  /** Milliseconds since the epoch. */
  modifiedAt: number;
}

/**
 * Reads the applied manifests for programs that run next to the agent, ordered by name. Resolves with [] if there is no
 * folder. Rejects with the file system's error.
 */
export function readApplied(rootDir: string): Promise<AppliedFile[]> {
  return readFiles(appliedFolder(rootDir));
}

/** More than a journal of the largest request. */
const maxFileBytes = 64 * 1024 * 1024;

const hidden = '..';

/** Returns the folder of applied manifests. */
export function appliedFolder(rootDir: string): string {
  return join(rootDir, 'applied');
}

/**
 * The files of applied manifests, which only root can read.
 *
 * INVARIANTS: a change of several files is applied completely or not at all. It is written to a journal first, and
 * after a crash the next `open` or `change` applies it again. A file is replaced atomically. One process at a time
 * makes changes.
 */
export class AppliedFolder {
  readonly path: string;
  /** Outside the folder, because the file source follows it. */
  private readonly journal: string;
  private readonly lock: string;
  /**
   * Queues the requests to this process, first in, first out, so that only other processes contend for the lock on
   * disk.
   */
  private readonly queue = new Semaphore(1);

  constructor(private readonly deps: Deps) {
    this.path = appliedFolder(deps.rootDir);
    const state = join(deps.rootDir, 'state');
    this.journal = join(state, 'applied-change.json');
    this.lock = join(state, 'applied.lock');
  }

  /** Creates the folder, and completes a change that a crash interrupted. Rejects with the file system's error. */
  open(): Promise<void> {
    return this.withLock(() => Promise.resolve());
  }

  /**
   * Runs `work` while nobody else changes the folder. Rejects with the file system's error, and with the signal's
   * reason if it is aborted before the work begins.
   */
  withLock<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const finishAndWork = async (): Promise<T> => {
      await this.finish();
      return work();
    };
    return this.queue.run(async () => {
      await makeFolder(this.path, 0o700);
      return withFileLock(this.lock, this.deps.clock, finishAndWork, signal && { signal });
    }, signal);
  }

  /** Reads a file. Resolves with undefined if it is missing. Rejects with the file system's error. */
  async read(name: string): Promise<string | undefined> {
    return readText(join(this.path, name));
  }

  /** Reads all files, ordered by name. Rejects with the file system's error. */
  async readAll(): Promise<AppliedFile[]> {
    return readFiles(this.path);
  }

  /** Applies a change. Call it within `withLock`. Rejects with the file system's error. */
  async change(files: FolderChange): Promise<void> {
    if (files.size === 0) return;
    // Changing one file is atomic anyway.
    if (files.size > 1) {
      await replaceFile(this.journal, Buffer.from(JSON.stringify([...files])));
      await syncFolder(dirname(this.journal));
    }
    await this.applyChange(files);
  }

  private async applyChange(files: FolderChange): Promise<void> {
    for (const [name, text] of files) {
      if (text === null) await rm(join(this.path, name), { force: true });
      else await this.replace(name, text);
    }
    await syncFolder(this.path);
    await rm(this.journal, { force: true });
  }

  /** Writes under a name that the file source ignores, until the file is complete. */
  private async replace(name: string, text: string): Promise<void> {
    const unnamed = join(this.path, `${hidden}${name}`);
    await replaceFile(unnamed, Buffer.from(text));
    await rename(unnamed, join(this.path, name));
  }

  private async finish(): Promise<void> {
    await this.removeUnfinished();
    const text = await readText(this.journal);
    if (text === undefined) return;
    const files = parsedJournal(text);
    if (files !== undefined) {
      await this.applyChange(files);
      return;
    }
    this.deps.logger.warn({ path: this.journal }, 'A change of applied manifests cannot be read and is ignored');
    await rename(this.journal, `${this.journal}.malformed`);
  }

  /** Removes what a crash during a write left behind. */
  private async removeUnfinished(): Promise<void> {
    for (const name of await readdir(this.path))
      if (name.startsWith(hidden)) await rm(join(this.path, name), { force: true });
  }
}

async function readFiles(folder: string): Promise<AppliedFile[]> {
  const files: AppliedFile[] = [];
  for (const name of (await listFolder(folder)).toSorted()) {
    if (!isFileName(name)) continue;
    const path = join(folder, name);
    const text = await readText(path);
    const stats = await ifPresent(stat(path));
    // A file may be deleted at any moment.
    if (text !== undefined && stats !== undefined) files.push({ path, text, modifiedAt: Math.round(stats.mtimeMs) });
  }
  return files;
}

/** Resolves with undefined if the file does not exist. */
async function readText(path: string): Promise<string | undefined> {
  return (await ifPresent(readRegularFile(path, maxFileBytes)))?.toString('utf8');
}

/** Returns undefined if the text is not a journal. */
function parsedJournal(text: string): FolderChange | undefined {
  try {
    const entries = JSON.parse(text) as unknown;
    return Array.isArray(entries) && entries.every(isEntry) ? new Map(entries) : undefined;
  } catch {
    // It was damaged after it was written.
    return undefined;
  }
}

const isFileName = (name: string): boolean => /^[a-z0-9._-]+\.json$/.test(name) && !name.startsWith(hidden);

function isEntry(entry: unknown): entry is [string, string | null] {
  if (!Array.isArray(entry)) return false;
  const [name, text] = entry as unknown[];
  const isName = typeof name === 'string' && isFileName(name);
  return isName && (text === null || typeof text === 'string');
}

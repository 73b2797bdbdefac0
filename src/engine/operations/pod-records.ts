import { createHash } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { podKey, type PodName } from '../../api/values/pod-names.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage, isOutOfResources } from '../../errors.ts';
import { SerialQueue } from '../../flow/serial-queue.ts';
import type { Logger } from '../../logger.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { listFolder } from '../../files/list-folder.ts';
import { replaceFile, syncFolder } from '../../files/write-file-atomic.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import { emptyRecord, fitted, parseRecord, type PodRecord } from './pod-record.ts';

interface Deps {
  rootDir: string;
  clock: Pick<Clock, 'after'>;
  logger: Logger;
}

/**
 * Holds several revisions of the largest manifest. A larger record could not be read, so it is written with fewer
 * revisions.
 */
const maxFileBytes = 32 * 1024 * 1024;
/** Delay of writes that nothing waits for, and before a failed write is retried. */
const batchMs = 1000;
const retryMs = 30_000;

/** Reads the records of all pods, for programs that run next to the agent. Skips files that are not records. */
export async function readRecords(rootDir: string): Promise<PodRecord[]> {
  const folder = recordsFolder(rootDir);
  const read = async (file: string): Promise<PodRecord[]> => {
    try {
      return [parseRecord((await readRegularFile(join(folder, file), maxFileBytes)).toString('utf8'))];
    } catch {
      // The agent has just removed it, or will rename it when it starts next.
      return [];
    }
  };
  const files = (await listFolder(folder, 'ENOTDIR')).filter((file) => file.endsWith('.json'));
  return (await Promise.all(files.map(read))).flat();
}

const recordsFolder = (rootDir: string): string => join(rootDir, 'state', 'operations');

/**
 * The records of declared pods on disk, one file per pod in `<root-dir>/state/operations/`, readable only by its owner.
 *
 * INVARIANTS: a file is complete or absent, after a power cut too. `ask` resolves once the record would survive one;
 * until then it has no effect. New revisions are recorded in memory at once and written a little later, because the
 * manifest still has them. A file that is not a record is renamed and logged.
 */
export class PodRecords {
  private readonly folder: string;
  private readonly records = new Map<string, PodRecord>();
  /** Keys of records that are not written yet. */
  private readonly unwritten = new Set<string>();
  private readonly writes = new SerialQueue();
  private cancelTimer: (() => void) | undefined;
  private isFailing = false;

  constructor(private readonly deps: Deps) {
    this.folder = recordsFolder(deps.rootDir);
  }

  /** Loads the records of an earlier agent. Rejects if the folder cannot be read now. */
  async load(): Promise<void> {
    // Created again before each write, so it does not matter if the disk is full now.
    await makeFolder(this.folder, 0o700).catch(() => undefined);
    for (const file of await listFolder(this.folder, 'ENOTDIR')) {
      if (file.endsWith('.tmp')) await rm(join(this.folder, file), { force: true });
      else if (file.endsWith('.json')) await this.read(join(this.folder, file));
    }
  }

  of(pod: PodName): PodRecord | undefined {
    return this.records.get(podKey(pod));
  }

  all(): PodRecord[] {
    return [...this.records.values()];
  }

  /** Records in memory, and writes a little later. */
  save(record: PodRecord): void {
    const key = podKey(record);
    this.records.set(key, record);
    this.unwritten.add(key);
    this.flushAfter(batchMs);
  }

  /**
   * Writes a changed record, then uses it. If the record changes in memory during the write, the new one is changed in
   * the same way. If the pod is dropped during the write, it stays dropped. Rejects with the file system's error; then
   * the record is unchanged. Logs the first error, because an automatic rollback has no caller to report it.
   */
  async ask(pod: PodName, change: (record: PodRecord) => PodRecord): Promise<void> {
    const key = podKey(pod);
    const isNew = !this.records.has(key);
    await this.writes
      .run(async () => {
        const before = this.records.get(key);
        if (before === undefined && !isNew) return;
        const asked = await this.write(change(before ?? emptyRecord(pod)));
        await syncFolder(this.folder);
        this.isFailing = false;
        const now = this.records.get(key);
        if (now === before) {
          this.unwritten.delete(key);
          this.records.set(key, asked);
        } else if (now !== undefined) this.save(change(now));
      })
      .catch((error: unknown) => {
        this.warn(error);
        throw error;
      });
  }

  /** Drops a pod that is no longer declared. */
  remove(pod: PodName): void {
    const key = podKey(pod);
    if (!this.records.delete(key)) return;
    this.unwritten.delete(key);
    void this.writes
      .run(() => rm(this.pathOf(pod), { force: true }))
      .catch((error: unknown) => {
        this.warn(error);
      });
  }

  /** Writes all pending records. Never rejects. */
  async close(): Promise<void> {
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    await this.flush();
  }

  private flushAfter(ms: number): void {
    this.cancelTimer ??= this.deps.clock.after(ms, () => {
      this.cancelTimer = undefined;
      void this.flush().then(() => {
        if (this.unwritten.size > 0) this.flushAfter(retryMs);
      });
    });
  }

  private async flush(): Promise<void> {
    await this.writes
      .run(async () => {
        for (const key of [...this.unwritten]) {
          const record = this.records.get(key);
          const written = record && (await this.write(record));
          // It may have changed during the write.
          if (this.records.get(key) !== record) continue;
          this.unwritten.delete(key);
          if (written !== undefined) this.records.set(key, written);
        }
        await syncFolder(this.folder);
        this.isFailing = false;
      })
      .catch((error: unknown) => {
        this.warn(error);
      });
  }

  /** Resolves with the written record. It lacks revisions that would make it too large to read. */
  private async write(record: PodRecord): Promise<PodRecord> {
    const written = fitted(record, maxFileBytes);
    await makeFolder(this.folder, 0o700);
    await replaceFile(this.pathOf(record), Buffer.from(JSON.stringify(written)));
    const dropped = record.revisions.length - written.revisions.length;
    const message = 'The revisions of a pod are too large, history and rollback miss the oldest ones';
    if (dropped > 0) this.deps.logger.warn({ pod: podKey(record), dropped }, message);
    return written;
  }

  private async read(path: string): Promise<void> {
    try {
      const record = parseRecord((await readRegularFile(path, maxFileBytes)).toString('utf8'));
      this.records.set(podKey(record), record);
    } catch (error) {
      if (isOutOfResources(error)) throw error;
      const aside = `${path}.malformed`;
      await rename(path, aside).catch(() => undefined);
      const message =
        'The record of a pod cannot be read and is set aside; its revisions are lost, and a stop or hold if it had one';
      this.deps.logger.warn({ path: aside, err: errorMessage(error) }, message);
    }
  }

  private warn(error: unknown): void {
    const message = 'Writing the revisions of pods failed, history and rollback may miss them after a restart';
    if (!this.isFailing) this.deps.logger.warn({ path: this.folder, err: errorMessage(error) }, message);
    this.isFailing = true;
  }

  private pathOf({ namespace, name }: PodName): string {
    const hash = createHash('sha256').update(podKey({ namespace, name })).digest('hex').slice(0, 16);
    return join(this.folder, `${`${namespace}_${name}`.slice(0, 180)}-${hash}.json`);
  }
}

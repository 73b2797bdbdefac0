import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { workloadKey, type WorkloadName } from '../../../api/values/workload.ts';
import { errorMessage } from '../../../errors.ts';
import { listFolder } from '../../../files/list-folder.ts';
import { makeFolder } from '../../../files/make-folder.ts';
import { replaceFile, syncFolder } from '../../../files/write-file-atomic.ts';
import { SerialQueue } from '../../../flow/serial-queue.ts';
import type { Logger } from '../../../logger.ts';
import { readRecordFile } from '../../host/record-file.ts';
import {
  emptyWorkloadRecord,
  isIdle,
  parseWorkloadRecord,
  type UndeclaredWorkload,
  type WorkloadRecord,
} from './workload-record.ts';

interface Deps {
  rootDir: string;
  logger: Logger;
  /** How many records remain of workloads that the sources may have left out by mistake. Defaults to 500. */
  maxDoubtful?: number;
}

/** Holds a template as large as the largest manifest. */
const maxFileBytes = 16 * 1024 * 1024;
/** How long the record of a workload waits for another source to declare it. */
const maxUndeclaredMs = 3_600_000;

/** Reads the records of all workloads, for programs that run next to the agent. Skips files that are not records. */
export async function readWorkloadRecords(rootDir: string): Promise<WorkloadRecord[]> {
  const folder = recordsFolder(rootDir);
  const files = (await listFolder(folder, 'ENOTDIR')).filter((file) => file.endsWith('.json'));
  const read = files.map((file) => readRecord(folder, file));
  return (await Promise.all(read)).flatMap((record) => record ?? []);
}

/** Reads a file of the folder. Resolves with undefined if it is missing or is not the record that its name says. */
function readRecord(folder: string, file: string, logger?: Logger): Promise<WorkloadRecord | undefined> {
  const parse = (bytes: Buffer): WorkloadRecord | undefined => {
    const record = parseWorkloadRecord(bytes);
    return record !== undefined && fileOf(record) === file ? record : undefined;
  };
  return readRecordFile(join(folder, file), maxFileBytes, parse, logger);
}

function fileOf(workload: WorkloadName): string {
  const { kind, namespace, name } = workload;
  const hash = createHash('sha256').update(workloadKey(workload)).digest('hex').slice(0, 16);
  return `${`${kind.toLowerCase()}_${namespace}_${name}`.slice(0, 180)}-${hash}.json`;
}

const recordsFolder = (rootDir: string): string => join(rootDir, 'state', 'workloads');

/**
 * The records of workloads on disk, one file per workload in `<root-dir>/state/workloads/`, readable only by its owner.
 *
 * INVARIANTS: a file is complete or absent, after a power cut too. `ask` resolves once the record would survive one;
 * until then it has no effect. A workload that no source declares keeps its record for an hour. A file that is not a
 * record is renamed and logged.
 */
export class WorkloadRecords {
  private readonly folder: string;
  private readonly records = new Map<string, WorkloadRecord>();
  /** Workloads with a record that no source declares, by their keys. Takes effect before it is on disk. */
  private readonly undeclared = new Map<string, UndeclaredWorkload>();
  private readonly writes = new SerialQueue();

  constructor(private readonly deps: Deps) {
    this.folder = recordsFolder(deps.rootDir);
  }

  /** Loads the records of an earlier agent. Rejects if the folder cannot be read now. */
  async load(): Promise<void> {
    for (const file of await listFolder(this.folder, 'ENOTDIR')) {
      const path = join(this.folder, file);
      if (file.endsWith('.tmp')) await rm(path, { force: true });
      else if (file.endsWith('.json')) {
        const record = await readRecord(this.folder, file, this.deps.logger);
        if (record === undefined) continue;
        const { undeclared, ...rest } = record;
        this.records.set(workloadKey(record), rest);
        if (undeclared !== undefined) this.undeclared.set(workloadKey(record), undeclared);
      }
    }
  }

  of(workload: WorkloadName): WorkloadRecord {
    return this.records.get(workloadKey(workload)) ?? emptyWorkloadRecord(workload);
  }

  /** Writes a changed record, uses it and resolves with it. If the file system fails, rejects and changes nothing. */
  ask(workload: WorkloadName, change: (record: WorkloadRecord) => WorkloadRecord): Promise<WorkloadRecord> {
    return this.writes.run(async () => {
      const record = change(this.of(workload));
      await this.write(record);
      this.records.set(workloadKey(workload), record);
      return record;
    });
  }

  /** Drops the record of a workload. */
  remove(workload: WorkloadName): void {
    const key = workloadKey(workload);
    if (!this.records.delete(key)) return;
    this.undeclared.delete(key);
    void this.writes
      .run(() => {
        // A write that was in progress may have brought it back.
        this.records.delete(key);
        return rm(this.pathOf(workload), { force: true });
      })
      .catch((error: unknown) => {
        this.warn(workload, error, 'Deleting the record of a workload failed, its scale or pause may come back');
      });
  }

  /** Drops the record of a workload that no source declares any more, unless one does again within an hour. */
  setUndeclared(workload: WorkloadName, undeclared: UndeclaredWorkload): void {
    this.undeclared.set(workloadKey(workload), undeclared);
    this.writeLater(workload, 'Recording that a workload is no longer declared failed; the next start does it');
  }

  /**
   * Calls `setUndeclared` for all workloads except those with the keys `declared`. If none of these has a record and
   * `mayBeWrong` is true, the others do not expire; only the newest of them remain.
   */
  setOthersUndeclared(declared: ReadonlySet<string>, since: number, mayBeWrong: boolean): void {
    const { maxDoubtful = 500 } = this.deps;
    const isDoubtful = mayBeWrong && ![...this.records.keys()].some((key) => declared.has(key));
    for (const [key, record] of this.records) {
      const known = this.undeclared.get(key);
      if (declared.has(key) || (known !== undefined && (isDoubtful || known.isDoubtful !== true))) continue;
      this.setUndeclared(record, { since, ...(isDoubtful && { isDoubtful }) });
    }
    const doubtful = [...this.undeclared].filter(([, one]) => one.isDoubtful);
    for (const [key] of doubtful.sort(([, a], [, b]) => b.since - a.since).slice(maxDoubtful)) this.drop(key);
  }

  /** Keeps the record of a workload that a source declares again. Returns undefined if one always did. */
  setDeclared(workload: WorkloadName): UndeclaredWorkload | undefined {
    const key = workloadKey(workload);
    const undeclared = this.undeclared.get(key);
    if (!this.undeclared.delete(key)) return undefined;
    this.writeLater(workload, 'Recording that a workload is declared again failed; the next start does it');
    return undeclared;
  }

  /** Drops the records of workloads that were undeclared for an hour. `msSince` returns how long ago a time was. */
  expire(msSince: (stamp: number) => number): void {
    for (const [key, { since, isDoubtful }] of this.undeclared) {
      if (isDoubtful !== true && msSince(since) > maxUndeclaredMs) this.drop(key);
    }
  }

  private drop(key: string): void {
    const record = this.records.get(key);
    if (record === undefined) this.undeclared.delete(key);
    else this.remove(record);
  }

  /** Writes the newest record of a workload. Deletes the file if the record is empty. */
  private async write(record: WorkloadRecord): Promise<void> {
    const undeclared = this.undeclared.get(workloadKey(record));
    if (isIdle(record)) await rm(this.pathOf(record), { force: true });
    else {
      await makeFolder(this.folder, 0o700);
      const text = JSON.stringify({ ...record, ...(undeclared && { undeclared }) });
      await replaceFile(this.pathOf(record), Buffer.from(text));
    }
    await syncFolder(this.folder);
  }

  private writeLater(workload: WorkloadName, onFailure: string): void {
    void this.writes
      .run(async () => {
        // The first record may have been in progress.
        const record = this.records.get(workloadKey(workload));
        if (record !== undefined) await this.write(record);
      })
      .catch((error: unknown) => {
        this.warn(workload, error, onFailure);
      });
  }

  private warn(workload: WorkloadName, error: unknown, message: string): void {
    this.deps.logger.warn({ workload: workloadKey(workload), err: errorMessage(error) }, message);
  }

  private pathOf(workload: WorkloadName): string {
    return join(this.folder, fileOf(workload));
  }
}

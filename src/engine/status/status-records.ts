import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { PodCondition, PodStatus } from '../../api/types.ts';
import { initAndRegularStatuses } from '../../api/values/container-statuses.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { readRecordFile, writeRecordFile } from '../host/record-file.ts';
import type { ProbedBefore } from '../container/probe-results.ts';
import { kubeletConditionTypes } from './generate-conditions.ts';

/** The part of a pod's status that the runtime does not know. */
export interface StatusRecord {
  /** When the agent first saw the pod, in milliseconds since the epoch. */
  acknowledgedAt: number;
  conditions: PodCondition[];
  containers: ProbedBefore[];
}

interface Deps {
  podDir: (uid: string) => string;
  clock: Clock;
  logger: Logger;
}

interface Kept {
  record: StatusRecord;
  /** The record on disk, if known. */
  written: StatusRecord | undefined;
  /** Times of the last writes, the newest last, at most `writesAPeriod`. */
  writesMonotonic: number[];
  cancelWrite: (() => void) | undefined;
}

const fileName = 'status.json';
/** Far more than any pod needs. */
const maxFileBytes = 256 * 1024;
/**
 * Changes within `batchMs` are written together. A record is written twice in `periodMs`, because a pod that starts is
 * often ready soon after.
 */
const batchMs = 1000;
const writesAPeriod = 2;
const periodMs = 60_000;

/**
 * The lasting part of each pod's status: its start, its conditions and its probe results. It is stored in the pod's
 * folder, is removed with it, and survives the agent and the machine. The kubelet reads it from its API server.
 *
 * INVARIANTS: a pod waits for the disk only before its first sync. A file is whole or absent. No folder is made here.
 */
export class StatusRecords {
  private readonly kept = new Map<string, Kept>();
  /** UIDs of pods whose file was read. */
  private readonly loaded = new Set<string>();
  private readonly writing = new Map<string, Promise<void>>();
  /** True while the disk takes no records. */
  private isFailing = false;
  private isClosed = false;

  constructor(private readonly deps: Deps) {}

  /** The record of the pod. Returns undefined if it was not acknowledged yet. */
  of(uid: string): StatusRecord | undefined {
    return this.kept.get(uid)?.record;
  }

  /** Loads the record of an earlier agent. Resolves with true on the first call for a pod that did not start over. */
  async load(uid: string): Promise<boolean> {
    if (this.loaded.has(uid)) return false;
    this.loaded.add(uid);
    try {
      const record = await readStatusRecord(this.deps.podDir(uid), this.deps.logger);
      if (record !== undefined && !this.kept.has(uid)) this.kept.set(uid, keep(record, record));
    } catch (error) {
      this.deps.logger.warn({ podUID: uid, err: errorMessage(error) }, 'Reading the kept status of a pod failed');
    }
    return true;
  }

  /** Sets when the pod was acknowledged, unless that was set before. */
  acknowledge(uid: string, at: number): StatusRecord {
    const known = this.kept.get(uid);
    if (known !== undefined) return known.record;
    const record = { acknowledgedAt: at, conditions: [], containers: [] };
    this.kept.set(uid, keep(record, undefined));
    return record;
  }

  /** Keeps the lasting part of a new status. It is written a little later. */
  note(uid: string, status: PodStatus): void {
    const kept = this.kept.get(uid);
    if (kept === undefined) return;
    const record = recordOf(status, kept.record.acknowledgedAt);
    if (isDeepStrictEqual(record, kept.record) && kept.written !== undefined) return;
    kept.record = record;
    this.writeLater(uid, kept);
  }

  /** Drops the record of a pod that starts over. */
  startOver(uid: string): void {
    this.loaded.add(uid);
    this.drop(uid);
  }

  /** Drops the record before the pod's folder is removed. Resolves when no write to it is under way. */
  async release(uid: string): Promise<void> {
    this.startOver(uid);
    await this.writing.get(uid);
  }

  /** Forgets all other pods. Their files are removed with their folders. */
  retain(uids: ReadonlySet<string>): void {
    for (const uid of this.kept.keys()) if (!uids.has(uid)) this.drop(uid);
    for (const uid of this.loaded) if (!uids.has(uid)) this.loaded.delete(uid);
  }

  /** Writes all pending records. Resolves also if a write failed. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const [uid, kept] of this.kept) if (kept.cancelWrite !== undefined) this.startWriting(uid, kept);
    await Promise.all(this.writing.values());
  }

  private writeLater(uid: string, kept: Kept): void {
    const { clock } = this.deps;
    const earliest = (kept.writesMonotonic.at(-writesAPeriod) ?? -Infinity) + periodMs;
    kept.cancelWrite ??= clock.after(Math.max(batchMs, earliest - clock.monotonic()), () => {
      this.startWriting(uid, kept);
    });
  }

  private startWriting(uid: string, kept: Kept): void {
    kept.cancelWrite?.();
    kept.cancelWrite = undefined;
    const writing = this.write(uid, kept).finally(() => this.writing.delete(uid));
    this.writing.set(uid, writing);
  }

  private drop(uid: string): void {
    this.kept.get(uid)?.cancelWrite?.();
    this.kept.delete(uid);
  }

  /** Does not sync. After a power cut the file is current, older or broken, and a broken file counts as absent. */
  private async write(uid: string, kept: Kept): Promise<void> {
    kept.writesMonotonic = [...kept.writesMonotonic, this.deps.clock.monotonic()].slice(-writesAPeriod);
    const { record } = kept;
    if (isDeepStrictEqual(record, kept.written)) return;
    try {
      const path = join(this.deps.podDir(uid), fileName);
      if (!(await writeRecordFile(path, JSON.stringify(record), { isDurable: false }))) return;
      kept.written = record;
      this.isFailing = false;
    } catch (error) {
      const message = 'Writing the kept status of a pod failed; it is tried again';
      if (!this.isFailing) this.deps.logger.warn({ podUID: uid, err: errorMessage(error) }, message);
      this.isFailing = true;
      if (!this.isClosed && this.kept.get(uid) === kept) this.writeLater(uid, kept);
    }
  }
}

/**
 * The record in a pod's folder. Resolves with undefined if there is no valid one; with `logger`, a damaged one is set
 * aside. Rejects if it may not be read.
 */
export function readStatusRecord(podDir: string, logger?: Logger): Promise<StatusRecord | undefined> {
  return readRecordFile(join(podDir, fileName), maxFileBytes, parseRecord, logger);
}

function keep(record: StatusRecord, written: StatusRecord | undefined): Kept {
  return { record, written, writesMonotonic: [], cancelWrite: undefined };
}

function recordOf(status: PodStatus, acknowledgedAt: number): StatusRecord {
  const { conditions = [] } = status;
  return {
    acknowledgedAt,
    conditions: conditions
      .filter(({ type }) => kubeletConditionTypes.has(type))
      .map(({ type, status: value, lastTransitionTime = '' }) => ({ type, status: value, lastTransitionTime })),
    containers: initAndRegularStatuses(status)
      .filter(({ state }) => state?.running !== undefined)
      .map(({ name, containerID = '', started = false, ready }) => ({ name, id: containerID, started, ready })),
  };
}

/** Returns undefined if it is no record of any release. */
function parseRecord(bytes: Buffer): StatusRecord | undefined {
  const value = Object(JSON.parse(bytes.toString('utf8'))) as Record<keyof StatusRecord, unknown>;
  const { acknowledgedAt, conditions, containers } = value;
  if (typeof acknowledgedAt !== 'number' || !Number.isFinite(new Date(acknowledgedAt).getTime())) return undefined;
  return {
    acknowledgedAt,
    conditions: listOf(conditions, isCondition),
    containers: listOf(containers, isProbedBefore),
  };
}

function listOf<T>(value: unknown, isItem: (item: unknown) => item is T): T[] {
  return Array.isArray(value) ? value.filter(isItem) : [];
}

function isCondition(value: unknown): value is PodCondition {
  return hasStrings(value, 'type', 'status', 'lastTransitionTime');
}

function isProbedBefore(value: unknown): value is ProbedBefore {
  return (
    hasStrings(value, 'name', 'id') && typeof value['started'] === 'boolean' && typeof value['ready'] === 'boolean'
  );
}

function hasStrings(value: unknown, ...names: readonly string[]): value is Record<string, unknown> {
  return isRecord(value) && names.every((name) => typeof value[name] === 'string');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

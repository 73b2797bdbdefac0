import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import pLimit from 'p-limit';
import type { PodCondition, PodStatus } from '../../api/types.ts';
import { initAndRegularStatuses } from '../../api/values/container-statuses.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { syncFolder } from '../../files/write-file-atomic.ts';
import type { ProbedBefore } from '../container/probe-results.ts';
import type { RuntimeContainerStatus } from '../container/runtime-pod-status.ts';
import { readRecordFile, writeRecordFile } from '../host/record-file.ts';
import type { DoneContainer } from './done-containers.ts';
import { kubeletConditionTypes } from './generate-conditions.ts';

/** The part of a pod's status that the runtime does not store. */
export interface StatusRecord {
  /** When the agent first saw the pod, in milliseconds since the epoch. */
  acknowledgedAt: number;
  conditions: PodCondition[];
  containers: ProbedBefore[];
  /** Containers that have exited and do not restart, even if the runtime no longer has them. */
  done: DoneContainer[];
  /** By name: the restart counts above zero. */
  restarts: Readonly<Record<string, number>>;
  /** Containers whose postStart hook started and has not finished: container id by name. */
  starting: Readonly<Record<string, string>>;
  /** True if the pod starts clean: everything of its last run is removed before it starts. */
  runsAnew: boolean;
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
const maxFileBytes = 4 * 1024 * 1024;
/** Number of files read in parallel. */
const maxReads = 16;
/**
 * Changes within `batchMs` are written together. A record is written at most twice per `periodMs`, because a starting
 * pod is often ready soon after.
 */
const batchMs = 1000;
const writesAPeriod = 2;
const periodMs = 60_000;

/**
 * Persists part of each pod's status: start time, conditions, probe results and done containers. The record is stored
 * in the pod's folder and removed with it, and it survives restarts of the agent and the machine and loss of the
 * runtime's data. The kubelet reads it from its API server.
 *
 * INVARIANTS: pods do not wait for the disk, except where a method says so. A file is complete or absent. A record with
 * done containers survives a power cut. This class creates no folders.
 */
export class StatusRecords {
  private readonly kept = new Map<string, Kept>();
  /** Records from an earlier agent for pods that are not acknowledged yet. */
  private readonly earlier = new Map<string, StatusRecord>();
  private readonly startedOver = new Set<string>();
  private readonly writing = new Map<string, Promise<void>>();
  /** True while writes fail. */
  private isFailing = false;
  private isClosed = false;

  constructor(private readonly deps: Deps) {}

  /** Loads an earlier agent's records of these pods. Skips missing and damaged files. */
  async load(uids: readonly string[]): Promise<void> {
    const limit = pLimit(maxReads);
    await Promise.all(uids.map((uid) => limit(() => this.read(uid))));
  }

  /** The pod's record, which may be from an earlier agent. Returns undefined if there is none. */
  of(uid: string): StatusRecord | undefined {
    return this.kept.get(uid)?.record ?? this.earlier.get(uid);
  }

  /** True if this agent has neither acknowledged the pod nor started it over. */
  isFirstSeen(uid: string): boolean {
    return !this.kept.has(uid) && !this.startedOver.has(uid);
  }

  /** Sets the time when the pod was acknowledged, unless it is set. */
  acknowledge(uid: string, at: number): StatusRecord {
    return this.keptOf(uid, at).record;
  }

  /** Stores the persistent part of a new status. Writes it a little later, or at once if another container is done. */
  save(uid: string, status: PodStatus, done: DoneContainer[]): void {
    const kept = this.kept.get(uid);
    if (kept === undefined) return;
    this.change(uid, kept, { ...kept.record, ...lastingPart(status), done });
  }

  /** Stores these done containers. Resolves once they are on disk. Rejects with the error of the file system. */
  async saveDone(uid: string, done: DoneContainer[]): Promise<void> {
    const kept = this.kept.get(uid);
    if (kept === undefined) return;
    kept.record = { ...kept.record, done };
    if (!isDoneWritten(kept)) await this.write(uid, kept);
  }

  /**
   * Records that the postStart hook of a container is about to start. Resolves once the record is on disk or cannot be
   * written.
   */
  async hookStarted(uid: string, containerName: string, containerID: string): Promise<void> {
    const kept = this.kept.get(uid);
    if (kept === undefined) return;
    kept.record = { ...kept.record, starting: { ...kept.record.starting, [containerName]: containerID } };
    await this.writeOrRetry(uid, kept);
  }

  /** Records that the postStart hook of a container has finished. */
  hookFinished(uid: string, containerName: string): void {
    const kept = this.kept.get(uid);
    if (kept === undefined || !Object.hasOwn(kept.record.starting, containerName)) return;
    const others = Object.entries(kept.record.starting).filter(([name]) => name !== containerName);
    kept.record = { ...kept.record, starting: Object.fromEntries(others) };
    void this.writeOrRetry(uid, kept);
  }

  /**
   * Records that everything of this pod must be removed before it restarts. Resolves once the record survives a power
   * cut. Does nothing if the pod has no folder, because then nothing is left. Rejects with the error of the file
   * system.
   */
  async runAnew(uid: string): Promise<void> {
    const kept = this.keptOf(uid, this.deps.clock.now());
    kept.record = { ...kept.record, runsAnew: true };
    await this.write(uid, kept);
  }

  /** Drops the record of a pod that starts over. */
  startOver(uid: string): void {
    this.startedOver.add(uid);
    this.earlier.delete(uid);
    this.drop(uid);
  }

  /** Drops the record before the pod's folder is removed. Resolves once no write is running. */
  async release(uid: string): Promise<void> {
    this.startOver(uid);
    await Promise.allSettled([this.writing.get(uid)]);
  }

  /** Drops all other pods. Their files are removed with their folders. */
  retain(uids: ReadonlySet<string>): void {
    for (const uid of this.kept.keys()) if (!uids.has(uid)) this.drop(uid);
    for (const uid of this.startedOver) if (!uids.has(uid)) this.startedOver.delete(uid);
  }

  /** Writes all pending records. Resolves even if a write failed. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const [uid, kept] of this.kept) if (kept.cancelWrite !== undefined) void this.writeOrRetry(uid, kept);
    await Promise.allSettled(this.writing.values());
  }

  private async read(uid: string): Promise<void> {
    try {
      const record = await readStatusRecord(this.deps.podDir(uid), this.deps.logger);
      if (record !== undefined) this.earlier.set(uid, record);
    } catch (error) {
      this.deps.logger.warn({ podUID: uid, err: errorMessage(error) }, 'Reading the kept status of a pod failed');
    }
  }

  private keptOf(uid: string, acknowledgedAt: number): Kept {
    const known = this.kept.get(uid);
    if (known !== undefined) return known;
    const earlier = this.earlier.get(uid);
    this.earlier.delete(uid);
    const record = earlier ?? { ...emptyRecord, acknowledgedAt };
    const kept = { record, written: earlier, writesMonotonic: [], cancelWrite: undefined };
    this.kept.set(uid, kept);
    return kept;
  }

  private change(uid: string, kept: Kept, record: StatusRecord): void {
    if (isDeepStrictEqual(record, kept.record) && kept.written !== undefined) return;
    kept.record = record;
    if (isDoneWritten(kept)) this.writeLater(uid, kept);
    else void this.writeOrRetry(uid, kept);
  }

  private writeLater(uid: string, kept: Kept): void {
    const { clock } = this.deps;
    const earliest = (kept.writesMonotonic.at(-writesAPeriod) ?? -Infinity) + periodMs;
    kept.cancelWrite ??= clock.after(Math.max(batchMs, earliest - clock.monotonic()), () => {
      void this.writeOrRetry(uid, kept);
    });
  }

  private drop(uid: string): void {
    this.kept.get(uid)?.cancelWrite?.();
    this.kept.delete(uid);
  }

  /** Retries a failed write later. Never rejects. */
  private async writeOrRetry(uid: string, kept: Kept): Promise<void> {
    try {
      await this.write(uid, kept);
      this.isFailing = false;
    } catch (error) {
      const message = 'Writing the kept status of a pod failed; retrying';
      if (!this.isFailing) this.deps.logger.warn({ podUID: uid, err: errorMessage(error) }, message);
      this.isFailing = true;
      if (!this.isClosed && this.kept.get(uid) === kept) this.writeLater(uid, kept);
    }
  }

  /** Writes the newest record once earlier writes of it finish. Rejects with the error of the file system. */
  private write(uid: string, kept: Kept): Promise<void> {
    kept.cancelWrite?.();
    kept.cancelWrite = undefined;
    // Count the write now, because the disk may be slow and later changes must not each cause another write.
    kept.writesMonotonic = [...kept.writesMonotonic, this.deps.clock.monotonic()].slice(-writesAPeriod);
    const writing = Promise.allSettled([this.writing.get(uid)])
      .then(() => this.writeNow(uid, kept))
      .finally(() => {
        if (this.writing.get(uid) === writing) this.writing.delete(uid);
      });
    this.writing.set(uid, writing);
    return writing;
  }

  /** Without a sync to disk, a power cut may leave an older or broken file. A broken file counts as absent. */
  private async writeNow(uid: string, kept: Kept): Promise<void> {
    const { record } = kept;
    if (this.kept.get(uid) !== kept || isDeepStrictEqual(record, kept.written)) return;
    const path = join(this.deps.podDir(uid), fileName);
    const isDurable = record.done.length > 0 || record.runsAnew;
    if (!(await writeRecordFile(path, JSON.stringify(record), { isDurable }))) return;
    if (isDurable) await syncFolder(dirname(path));
    kept.written = record;
  }
}

const emptyRecord = { conditions: [], containers: [], done: [], restarts: {}, starting: {}, runsAnew: false };

function isDoneWritten({ record, written }: Kept): boolean {
  return isDeepStrictEqual(record.done, written?.done ?? []);
}

/**
 * Reads the record in a pod's folder. Resolves with undefined if there is no valid record. With `logger`, sets a
 * damaged file aside. Rejects if the file cannot be read.
 */
export function readStatusRecord(podDir: string, logger?: Logger): Promise<StatusRecord | undefined> {
  return readRecordFile(join(podDir, fileName), maxFileBytes, parseRecord, logger);
}

function lastingPart(status: PodStatus): Pick<StatusRecord, 'conditions' | 'containers' | 'restarts'> {
  const { conditions = [] } = status;
  const counts = initAndRegularStatuses(status).map(({ name, restartCount }): [string, number] => [name, restartCount]);
  return {
    restarts: Object.fromEntries(counts.filter(([, count]) => count > 0)),
    conditions: conditions
      .filter(({ type }) => kubeletConditionTypes.has(type))
      .map(({ type, status: value, lastTransitionTime = '' }) => ({ type, status: value, lastTransitionTime })),
    containers: initAndRegularStatuses(status)
      .filter(({ state }) => state?.running !== undefined)
      .map(({ name, containerID = '', started = false, ready }) => ({ name, id: containerID, started, ready })),
  };
}

/** Returns undefined if no release wrote this content. */
function parseRecord(bytes: Buffer): StatusRecord | undefined {
  const value = Object(JSON.parse(bytes.toString('utf8'))) as Record<keyof StatusRecord, unknown>;
  const { acknowledgedAt, conditions, containers, done, restarts, starting, runsAnew } = value;
  if (typeof acknowledgedAt !== 'number' || !Number.isFinite(new Date(acknowledgedAt).getTime())) return undefined;
  return {
    acknowledgedAt,
    conditions: listOf(conditions, isCondition),
    containers: listOf(containers, isProbedBefore),
    // Earlier releases did not write these.
    done: listOf(done, isDoneContainer),
    restarts: recordOf(restarts, isCount),
    starting: recordOf(starting, isID),
    runsAnew: runsAnew === true,
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

function recordOf<T>(value: unknown, isItem: (item: unknown) => item is T): Record<string, T> {
  const entries = Object.entries(Object(value) as Record<string, unknown>);
  return Object.fromEntries(entries.filter((entry): entry is [string, T] => isItem(entry[1])));
}

const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value);
const isID = (value: unknown): value is string => typeof value === 'string';

function isDoneContainer(value: unknown): value is DoneContainer {
  if (!isRecord(value)) return false;
  const { status, sandboxID = '' } = value;
  return typeof sandboxID === 'string' && isContainerStatus(status);
}

function isContainerStatus(value: unknown): value is RuntimeContainerStatus {
  const isExited =
    hasStrings(value, 'id', 'name', 'image', 'imageRef', 'reason', 'message') && value['state'] === 'exited';
  return isExited && numbersOfStatus.every((name) => typeof value[name] === 'number');
}

const numbersOfStatus = ['createdAt', 'startedAt', 'finishedAt', 'exitCode', 'hash', 'restartCount'];

function hasStrings(value: unknown, ...names: readonly string[]): value is Record<string, unknown> {
  return isRecord(value) && names.every((name) => typeof value[name] === 'string');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

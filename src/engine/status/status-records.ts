import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { PodCondition, PodStatus } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { readRegularFile } from '../host/regular-file.ts';
import type { ProbedBefore } from '../container/probe-results.ts';
import { kubeletConditionTypes } from './generate-conditions.ts';

/** What of the status of a pod the runtime cannot tell. */
export interface StatusRecord {
  /** When the agent saw the pod first. Milliseconds since the epoch. */
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
  /** As it is on the disk, for certain. */
  written: StatusRecord | undefined;
  writtenAt: number;
  cancelWrite: (() => void) | undefined;
}

const fileName = 'status.json';
/** Far more than the containers of a pod take. */
const maxFileBytes = 256 * 1024;
/** What changes within this time is one write; of a pod whose readiness comes and goes one is made in `rewriteMs`. */
const batchMs = 1000;
const rewriteMs = 30_000;

/**
 * What is told of a pod since when: its start, its conditions, what its probes found. It is kept in the folder of the pod, goes
 * with it, and outlives the agent and the machine. The kubelet asks its API server for it.
 *
 * INVARIANTS: no pod waits for the disk but for its first look; a file is whole or absent; a folder is never made.
 */
export class StatusRecords {
  private readonly deps: Deps;
  private readonly kept = new Map<string, Kept>();
  /** UIDs of pods whose file was looked for. */
  private readonly loaded = new Set<string>();
  private readonly writing = new Map<string, Promise<void>>();

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** What is known of the pod; undefined: it was not acknowledged yet. */
  of(uid: string): StatusRecord | undefined {
    return this.kept.get(uid)?.record;
  }

  /** Takes up what an earlier life left of a pod. True: it was not asked for before, nor did the pod start over. */
  async load(uid: string): Promise<boolean> {
    if (this.loaded.has(uid)) return false;
    this.loaded.add(uid);
    try {
      const record = await readStatusRecord(this.deps.podDir(uid));
      if (record !== undefined && !this.kept.has(uid)) this.kept.set(uid, keep(record, record));
    } catch (error) {
      this.deps.logger.warn({ podUID: uid, err: errorMessage(error) }, 'Reading the kept status of a pod failed');
    }
    return true;
  }

  /** The pod is acknowledged now, or was at `at`, unless it was before. */
  acknowledge(uid: string, at: number): StatusRecord {
    const known = this.kept.get(uid);
    if (known !== undefined) return known.record;
    const record = { acknowledgedAt: at, conditions: [], containers: [] };
    this.kept.set(uid, keep(record, undefined));
    return record;
  }

  /** Keeps what a new status says; it is on the disk a little later. */
  note(uid: string, status: PodStatus): void {
    const kept = this.kept.get(uid);
    if (kept === undefined) return;
    const record = recordOf(status, kept.record.acknowledgedAt);
    if (isDeepStrictEqual(record, kept.record) && kept.written !== undefined) return;
    kept.record = record;
    const { clock } = this.deps;
    kept.cancelWrite ??= clock.after(Math.max(batchMs, kept.writtenAt + rewriteMs - clock.monotonic()), () => {
      this.startWriting(uid, kept);
    });
  }

  /** The pod starts over: what was known of it is not so any more. */
  startOver(uid: string): void {
    this.loaded.add(uid);
    this.drop(uid);
  }

  /** The folder of the pod goes. Resolves when nothing is written to it any more. */
  async release(uid: string): Promise<void> {
    this.startOver(uid);
    await this.writing.get(uid);
  }

  /** Forgets every pod but these; files are left to those who remove the pods. */
  retain(uids: ReadonlySet<string>): void {
    for (const uid of this.kept.keys()) if (!uids.has(uid)) this.drop(uid);
    for (const uid of this.loaded) if (!uids.has(uid)) this.loaded.delete(uid);
  }

  /** Writes what is not written yet. Resolves when it is, or could not be. */
  async close(): Promise<void> {
    for (const [uid, kept] of this.kept) if (kept.cancelWrite !== undefined) this.startWriting(uid, kept);
    await Promise.all(this.writing.values());
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

  /** Without a sync: after a power cut the file is whole, older, or useless, and useless is as good as absent. */
  private async write(uid: string, kept: Kept): Promise<void> {
    kept.writtenAt = this.deps.clock.monotonic();
    const { record } = kept;
    if (isDeepStrictEqual(record, kept.written)) return;
    try {
      const path = join(this.deps.podDir(uid), fileName);
      await writeFile(`${path}.tmp`, JSON.stringify(record), { mode: 0o600 });
      await rename(`${path}.tmp`, path);
      kept.written = record;
    } catch (error) {
      // The pod has no folder yet, or none any more.
      if (hasCode(error, 'ENOENT', 'ENOTDIR')) return;
      this.deps.logger.warn({ podUID: uid, err: errorMessage(error) }, 'Keeping the status of a pod failed');
    }
  }
}

/** What is kept in the folder of a pod; undefined: nothing of use. Rejects when it may not be read. */
export async function readStatusRecord(podDir: string): Promise<StatusRecord | undefined> {
  try {
    return parseRecord((await readRegularFile(join(podDir, fileName), maxFileBytes)).toString('utf8'));
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

function keep(record: StatusRecord, written: StatusRecord | undefined): Kept {
  return { record, written, writtenAt: -Infinity, cancelWrite: undefined };
}

function recordOf(status: PodStatus, acknowledgedAt: number): StatusRecord {
  const { conditions = [], containerStatuses = [], initContainerStatuses = [] } = status;
  return {
    acknowledgedAt,
    conditions: conditions
      .filter(({ type }) => kubeletConditionTypes.has(type))
      .map(({ type, status: value, lastTransitionTime = '' }) => ({ type, status: value, lastTransitionTime })),
    containers: [...initContainerStatuses, ...containerStatuses]
      .filter(({ state }) => state?.running !== undefined)
      .map(({ name, containerID = '', started = false, ready }) => ({ name, id: containerID, started, ready })),
  };
}

/** Undefined for what no release of ours wrote whole. */
function parseRecord(text: string): StatusRecord | undefined {
  const value = parseJSON(text);
  if (!isRecord(value)) return undefined;
  const { acknowledgedAt, conditions, containers } = value;
  if (typeof acknowledgedAt !== 'number' || !Number.isFinite(new Date(acknowledgedAt).getTime())) return undefined;
  return {
    acknowledgedAt,
    conditions: listOf(conditions, isCondition),
    containers: listOf(containers, isProbedBefore),
  };
}

function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // What a power cut left of it.
    return undefined;
  }
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

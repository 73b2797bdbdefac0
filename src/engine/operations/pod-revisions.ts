import { lstat } from 'node:fs/promises';
import type { Pod } from '../../api/types.ts';
import { initAndRegularContainers } from '../../api/values/containers.ts';
import { podKey, type PodName } from '../../api/values/pod-names.ts';
import { progressDeadlineMs } from '../../api/values/update-annotations.ts';
import type { Clock } from '../../clock.ts';
import { hasCode } from '../../errors.ts';
import { Semaphore } from '../../flow/semaphore.ts';
import type { WallClockHistory } from '../../flow/wall-clock-history.ts';
import type { Emit } from '../view/event-bus.ts';
import { podEventRecorder } from '../view/event-recorder.ts';
import { reasons } from '../view/reasons.ts';
import type { WaitingUpdate } from '../view/snapshot.ts';
import {
  computeRevision,
  computeUpdateGates,
  isPinned,
  type KeptRevision,
  lateRollback,
  type UpdateGates,
} from './compute-revision.ts';
import { declaredOrRefused, type RevisionSummary } from './operation.ts';
import {
  currentRevision,
  emptyRecord,
  type PodRecord,
  type PodRevision,
  revisionName,
  withoutPin,
  withRevision,
} from './pod-record.ts';
import type { PodRecords } from './pod-records.ts';

interface Deps {
  records: PodRecords;
  /** Returns the pod of this name that runs or should run. Returns undefined if none is declared. */
  declaredPod: (pod: PodName) => Pod | undefined;
  /** True if this pod is Ready and nothing in it runs from an earlier manifest. */
  isWellAsDeclared: (pod: Pod) => boolean;
  /** True for a pod that starts again once other pods have stopped. Its record stays until then. */
  isRecreated: (pod: PodName) => boolean;
  /** Merges the lists of the sources again. */
  redeclare: () => void;
  wallClock: Pick<WallClockHistory, 'since'>;
  clock: Pick<Clock, 'now'>;
  emit: Emit;
}

/** A declared pod, and whether its UID is derived. */
export interface DeclaredPod {
  pod: Pod;
  isDerivedUID: boolean;
  /** Why it keeps its accepted revision for now. Absent if it does not. */
  keepsRevision?: KeptRevision;
}

/** The revision of a pod that is running or starting. */
export interface AcceptedRevision {
  pod: Pod;
  takenAt: number;
  /** True if it is the given one. */
  isGiven: boolean;
  /** True if it stays until an operator or the manifest changes that. */
  isPinned: boolean;
}

/** Chooses the revisions that declared pods run, and rolls back those that are not Ready in time. */
export class PodRevisions {
  /** Held by a request of an operator or an automatic rollback, so that there is only one at a time. */
  readonly changes = new Semaphore(1);
  /** Name of the declared revision of each pod, by its key. */
  private readonly declared = new Map<string, string>();
  /** Why a pod does not run its declared revision. */
  private readonly kept = new Map<string, WaitingUpdate>();
  private readonly names = new WeakMap<Pod, string>();
  /** Lock files: true if the path exists. */
  private readonly locks = new Map<string, boolean>();
  /** The lock files that are being checked. */
  private readonly askedLocks = new Set<string>();

  constructor(private readonly deps: Deps) {}

  /** Returns the revision to run of a pod that a source declares. Records a new revision. */
  revisionToRun({ pod, isDerivedUID, keepsRevision }: DeclaredPod, from: string): DeclaredPod {
    const { records, clock } = this.deps;
    const key = podKey(pod.metadata);
    const name = this.nameOf(pod);
    this.declared.set(key, name);
    const record = records.of(pod.metadata);
    const choice = computeRevision(record, name, { rollOut: keepsRevision, ...this.gatesOf(pod) });
    if (choice.kind === 'kept') {
      const { revision, reason, message } = choice;
      this.keep(key, revision, { reason, message: `${message}; revision ${revision.number} runs` });
      return { pod: revision.pod, isDerivedUID: revision.isDerivedUID };
    }
    this.kept.delete(key);
    if (record === undefined || currentRevision(record)?.name !== name) {
      const taken = { name, takenAt: clock.now(), from, isDerivedUID, pod };
      // The earlier revision may have become Ready since the last review.
      const before = record === undefined ? emptyRecord(pod.metadata) : this.withReadiness(record);
      records.save(withRevision(before, taken));
    } else if (record.pin?.whileDeclared !== undefined) records.save(withoutPin(record));
    return { pod, isDerivedUID };
  }

  /** Returns the accepted revision of this pod, and whether that is `pod`. Returns undefined if there is none. */
  accepted(pod: Pod): AcceptedRevision | undefined {
    const record = this.deps.records.of(pod.metadata);
    const current = record && currentRevision(record);
    if (record === undefined || current === undefined) return undefined;
    const name = this.nameOf(pod);
    const { takenAt } = current;
    return { pod: current.pod, takenAt, isGiven: current.name === name, isPinned: isPinned(record, name) };
  }

  /** Returns why the pod does not run its declared revision. Returns undefined if it does. */
  keptUpdate({ metadata }: Pod): WaitingUpdate | undefined {
    return this.kept.get(podKey(metadata));
  }

  /** Drops a pod that is no longer declared, but not the record of one that starts again. */
  removed(pod: PodName): void {
    const key = podKey(pod);
    this.declared.delete(key);
    this.kept.delete(key);
    if (!this.deps.isRecreated(pod)) this.deps.records.remove(pod);
  }

  /** Drops the pods that no source declares and that do not keep running. Called once all sources were read. */
  retainDeclared(): void {
    for (const record of this.deps.records.all()) {
      if (!this.declared.has(podKey(record)) && this.deps.declaredPod(record) === undefined) this.removed(record);
    }
  }

  /**
   * Records which revisions are Ready, and starts or rolls back those whose time has come. Called periodically.
   * Returns true if a revision waits for a time or a lock.
   */
  review(): boolean {
    const records = this.deps.records.all();
    for (const record of records) this.reviewPod(record);
    const gated = [...this.kept.values()].some(({ reason }) => reason === 'UpdateWindow' || reason === 'UpdateLock');
    if (gated) void this.checkLocks().then(this.deps.redeclare);
    else this.locks.clear();
    return gated || records.some(hasDeadline);
  }

  /** Returns the revisions of a pod, oldest first. */
  history(pod: PodName): RevisionSummary[] {
    const { metadata } = declaredOrRefused(pod, this.deps.declaredPod);
    const { revisions, current } = this.deps.records.of(metadata) ?? emptyRecord(metadata);
    return revisions.map((revision) => ({
      revision: revision.number,
      takenAt: revision.takenAt,
      from: revision.from,
      images: imagesOf(revision),
      wasReady: revision.wasReady,
      isCurrent: revision.number === current,
    }));
  }

  /**
   * Makes an earlier revision the current one, until the manifest changes or, if the pod is held, until `unhold`.
   * Resolves to false if the pod runs a different revision meanwhile. Rejects if the record cannot be written. Takes
   * effect when the sources are merged again.
   */
  async rollBack(
    record: PodRecord,
    { number, name }: PodRevision,
    { because, isHeld }: { because: string; isHeld: boolean },
  ): Promise<boolean> {
    const { records } = this.deps;
    const declared = this.declared.get(podKey(record));
    await records.ask(record, (newest) => {
      if (newest.current !== record.current) return newest;
      const rest = { ...withoutPin(newest), current: number };
      if (isHeld) return { ...rest, pin: { to: number, because } };
      return declared === undefined || declared === name
        ? rest
        : { ...rest, pin: { to: number, whileDeclared: declared, because } };
    });
    return records.of(record)?.current === number;
  }

  /**
   * Lets a pod that changes only when it is restarted change now. Resolves to false if it does not wait for that.
   * Rejects if the record cannot be written.
   */
  async acceptDeclared({ metadata }: Pod): Promise<boolean> {
    const key = podKey(metadata);
    const accepts = this.declared.get(key);
    if (accepts === undefined || this.kept.get(key)?.reason !== 'OnDelete') return false;
    await this.deps.records.ask(metadata, (newest) => ({ ...newest, accepts }));
    this.deps.redeclare();
    return true;
  }

  /** Emits an event if this is a change, so that readers of the snapshot read it again. */
  private keep(key: string, { pod }: PodRevision, update: WaitingUpdate): void {
    const hasChanged = this.kept.get(key)?.reason !== update.reason;
    this.kept.set(key, update);
    const running = this.deps.declaredPod(pod.metadata) ?? pod;
    if (hasChanged) podEventRecorder(this.deps.emit, running).normal(reasons.replacementWaits, update.message);
  }

  private reviewPod(record: PodRecord): void {
    const current = currentRevision(record);
    const pod = this.deps.declaredPod(record);
    if (current === undefined || current.wasReady || pod === undefined) return;
    const updated = this.withReadiness(record);
    if (updated === record) this.rollBackIfLate(record, current, pod);
    else this.deps.records.save(updated);
  }

  /** If the current revision is Ready now, returns the record with that recorded. Otherwise returns the same record. */
  private withReadiness(record: PodRecord): PodRecord {
    const { declaredPod, isWellAsDeclared } = this.deps;
    const current = currentRevision(record);
    const pod = declaredPod(record);
    if (current === undefined || current.wasReady || pod === undefined) return record;
    if (!isSameRevision(pod, current.pod) || !isWellAsDeclared(pod)) return record;
    const revisions = record.revisions.map((one) => (one === current ? { ...one, wasReady: true } : one));
    return { ...record, revisions };
  }

  private rollBackIfLate(record: PodRecord, current: PodRevision, pod: Pod): void {
    const { wallClock, redeclare, emit } = this.deps;
    const deadlineMs = progressDeadlineMs(current.pod);
    const target = lateRollback(record, deadlineMs, wallClock.since(current.takenAt));
    if (target === undefined || deadlineMs === undefined) return;
    const because = `revision ${current.number} was not Ready within ${deadlineMs / 1000}s`;
    const rollBack = async (): Promise<void> => {
      if (this.deps.records.of(record) !== record) return;
      if (!(await this.rollBack(record, target, { because, isHeld: false }))) return;
      podEventRecorder(emit, pod).warning(reasons.rolledBack, `${because}; revision ${target.number} runs again`);
      redeclare();
    };
    // The next review tries again.
    this.changes.run(rollBack).catch(() => undefined);
  }

  private gatesOf(pod: Pod): UpdateGates {
    return computeUpdateGates(pod, new Date(this.deps.clock.now()), (path) => {
      if (!this.locks.has(path)) this.locks.set(path, true);
      return this.locks.get(path) === true;
    });
  }

  /** A path on a hung file system is not checked again, because each call would hold a thread. */
  private async checkLocks(): Promise<void> {
    const check = async (path: string): Promise<void> => {
      this.askedLocks.add(path);
      this.locks.set(path, await exists(path));
      this.askedLocks.delete(path);
    };
    await Promise.all([...this.locks.keys()].filter((path) => !this.askedLocks.has(path)).map(check));
  }

  private nameOf(pod: Pod): string {
    const name = this.names.get(pod) ?? revisionName(pod);
    this.names.set(pod, name);
    return name;
  }
}

const hash = ({ metadata }: Pod): string => metadata.annotations?.['kubernetes.io/config.hash'] ?? metadata.uid;
const isSameRevision = (a: Pod, b: Pod): boolean => hash(a) === hash(b);

function imagesOf({ pod: { spec } }: PodRevision): Record<string, string> {
  const all = initAndRegularContainers(spec);
  return Object.fromEntries(all.map(({ name, image = '' }) => [name, image]));
}

/** Also true if that is unknown, because a pod's lock must hold. */
async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    return !hasCode(error, 'ENOENT', 'ENOTDIR');
  }
}

/** True if the current revision must be Ready by a certain time. */
function hasDeadline(record: PodRecord): boolean {
  const current = currentRevision(record);
  return current !== undefined && !current.wasReady && progressDeadlineMs(current.pod) !== undefined;
}

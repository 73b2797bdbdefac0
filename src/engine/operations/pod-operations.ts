import { lstat } from 'node:fs/promises';
import type { Pod } from '../../api/types.ts';
import { initAndRegularContainers } from '../../api/values/containers.ts';
import { podKey, type PodName } from '../../api/values/pod-names.ts';
import { progressDeadlineMs } from '../../api/values/update-annotations.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage, hasCode, RequestRefused } from '../../errors.ts';
import type { WallClockHistory } from '../../flow/wall-clock-history.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { Emit } from '../view/event-bus.ts';
import { podEventRecorder } from '../view/event-recorder.ts';
import { reasons } from '../view/reasons.ts';
import type { WaitingUpdate } from '../view/snapshot.ts';
import {
  computeRevision,
  computeUpdateGates,
  lateRollback,
  rollbackTarget,
  type UpdateGates,
} from './compute-revision.ts';
import { withTimeout, TimeoutError } from '../../flow/with-timeout.ts';
import { Semaphore } from '../../flow/semaphore.ts';
import { computeRestart } from './compute-restart.ts';
import { declaredOrRefused, type OperationRequest, type RevisionSummary } from './operation.ts';
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

/** Longest waits for the runtime's answer about a pod: in general, and if its containers are already known. */
const lookTimeoutMs = 10_000;
const lookAgainTimeoutMs = 1000;

interface Deps {
  records: PodRecords;
  /** Returns the pod of this name that runs or should run. Returns undefined if none is declared. */
  declaredPod: (pod: PodName) => Pod | undefined;
  /** Returns the sources whose last list has a pod of this name. */
  declarers: (pod: PodName) => string[];
  isTerminating: (uid: string) => boolean;
  /** Returns the last known status of a pod in the runtime. */
  podStatus: (uid: string) => RuntimePodStatus;
  /** Reads the status of a pod from the runtime. */
  lookAtPod: (uid: string) => Promise<void>;
  /** Returns why the runtime does nothing now. Returns undefined if it answers. */
  runtimeWaitsBecause: () => string | undefined;
  /** True if this pod is Ready and nothing in it runs from an earlier manifest. */
  isWellAsDeclared: (pod: Pod) => boolean;
  /** Merges the lists of the sources again. */
  redeclare: () => void;
  /** True if the pod finished without being stopped, and does not start again by itself. */
  hasEnded: (uid: string) => boolean;
  /** Requests that everything of the pod is removed when it starts next. Resolves once that is on disk. */
  runAnew: (uid: string) => Promise<void>;
  stopPod: (uid: string) => void;
  startPod: (uid: string) => void;
  /** Syncs the revisions of the pod at once, without any back-off. */
  retryPod: (pod: PodName) => void;
  wallClock: Pick<WallClockHistory, 'since'>;
  clock: Clock;
  emit: Emit;
}

/** A declared pod, and whether its UID is derived. */
export interface DeclaredPod {
  pod: Pod;
  isDerivedUID: boolean;
}

/**
 * Handles requests of operators for declared pods, and chooses the revisions that these pods run.
 *
 * INVARIANTS: a request is on disk before it is executed. Executing it again changes nothing.
 */
export class PodOperations {
  /** Name of the declared revision of each pod, by its key. */
  private readonly declared = new Map<string, string>();
  /** Why a pod does not run its declared revision. */
  private readonly kept = new Map<string, WaitingUpdate>();
  private readonly names = new WeakMap<Pod, string>();
  /** Lock files: true if the path exists. */
  private readonly locks = new Map<string, boolean>();
  /** The lock files that are being checked. */
  private readonly askedLocks = new Set<string>();
  private readonly acts = new Semaphore(1);

  constructor(private readonly deps: Deps) {}

  /** Returns the revision to run of a pod that a source declares. Records a new revision. */
  revisionToRun({ pod, isDerivedUID }: DeclaredPod, from: string): DeclaredPod {
    const { records, clock } = this.deps;
    const key = podKey(pod.metadata);
    const name = this.nameOf(pod);
    this.declared.set(key, name);
    const record = records.of(pod.metadata);
    const choice = computeRevision(record, name, this.gatesOf(pod));
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
      records.note(withRevision(before, taken));
    } else if (record.pin?.whileDeclared !== undefined) records.note(withoutPin(record));
    return { pod, isDerivedUID };
  }

  /** Returns why the pod does not run its declared revision. Returns undefined if it does. */
  keptUpdate({ metadata }: Pod): WaitingUpdate | undefined {
    return this.kept.get(podKey(metadata));
  }

  isStopped({ metadata }: Pod): boolean {
    return this.deps.records.of(metadata)?.isStopped === true;
  }

  /** Returns the ids of containers that must restart. */
  restarting({ metadata }: Pod): readonly string[] {
    return this.deps.records.of(metadata)?.restart ?? [];
  }

  /** Returns the names of containers whose restart was requested and whose next instance does not exist yet. */
  restartingContainers(pod: Pod): string[] {
    const ids = this.restarting(pod);
    if (ids.length === 0) return [];
    const newest = newestIDs(this.deps.podStatus(pod.metadata.uid));
    return [...newest].flatMap(([name, id]) => (ids.includes(id) ? [name] : []));
  }

  /** Drops a pod that is no longer declared. */
  removed(pod: PodName): void {
    const key = podKey(pod);
    this.declared.delete(key);
    this.kept.delete(key);
    this.deps.records.forget(pod);
  }

  /** Drops the pods that no source declares and that do not keep running. Called once all sources were read. */
  retainDeclared(): void {
    for (const record of this.deps.records.all()) {
      if (!this.declared.has(podKey(record)) && this.deps.declaredPod(record) === undefined) this.removed(record);
    }
  }

  /**
   * Records progress, and starts or rolls back revisions whose time has come. Called periodically. Returns true if a
   * revision waits for a time or a lock.
   */
  review(): boolean {
    const records = this.deps.records.all();
    for (const record of records) this.reviewPod(record);
    const gated = [...this.kept.values()].some(({ reason }) => reason === 'UpdateWindow' || reason === 'UpdateLock');
    if (gated) void this.checkLocks().then(this.deps.redeclare);
    return gated || records.some(hasDeadline);
  }

  /** Returns the revisions of a pod, oldest first. */
  history(pod: PodName): RevisionSummary[] {
    const record = this.recordOf(declaredOrRefused(pod, this.deps.declaredPod));
    return record.revisions.map((revision) => ({
      revision: revision.number,
      takenAt: revision.takenAt,
      from: revision.from,
      images: imagesOf(revision),
      wasReady: revision.wasReady,
      isCurrent: revision.number === record.current,
    }));
  }

  /** Writes a request to disk, then executes it. Resolves with a sentence for the operator. */
  act(request: OperationRequest, signal?: AbortSignal): Promise<string> {
    return this.acts.run(() => this.actNow(request), signal);
  }

  /** Emits an event if this is a change, so that readers of the snapshot read it again. */
  private keep(key: string, { pod }: PodRevision, update: WaitingUpdate): void {
    const isNews = this.kept.get(key)?.reason !== update.reason;
    this.kept.set(key, update);
    const running = this.deps.declaredPod(pod.metadata) ?? pod;
    if (isNews) podEventRecorder(this.deps.emit, running).normal(reasons.replacementWaits, update.message);
  }

  private async actNow(request: OperationRequest): Promise<string> {
    const pod = declaredOrRefused(request.pod, this.deps.declaredPod);
    const shown = `pod/${pod.metadata.name}`;
    const record = this.recordOf(pod);
    this.refuseUnlessFit(request, pod, record);
    switch (request.action) {
      case 'stop':
        await this.ask(pod, (newest) => ({ ...newest, isStopped: true }));
        this.deps.stopPod(this.declaredUID(pod));
        return this.asked(`${shown} stopped`, `${shown} stops`);
      case 'start': {
        if (record.isStopped !== true) return `${shown} was not stopped`;
        if (pod.spec.restartPolicy !== 'Always') await this.runAnew(pod);
        await this.ask(pod, ({ isStopped: _isStopped, ...started }) => started);
        this.deps.startPod(this.declaredUID(pod));
        return this.asked(`${shown} started`, `${shown} starts`);
      }
      case 'restart':
        return this.deps.hasEnded(pod.metadata.uid) ? this.runAgain(pod) : this.restart(pod, request.container);
      case 'retry':
        if (this.deps.hasEnded(pod.metadata.uid)) return this.runAgain(pod);
        this.deps.retryPod(request.pod);
        return this.asked(`${shown} is tried now`, `${shown} is tried`);
      case 'hold':
        await this.ask(pod, (newest) => ({
          ...newest,
          pin: { to: newest.current, because: 'held by kubelet-ts hold' },
        }));
        return `${shown} held: changes of its manifest wait until kubelet-ts unhold`;
      case 'unhold':
        if (record.pin === undefined) return `${shown} was not held`;
        await this.ask(pod, withoutPin);
        this.deps.redeclare();
        return `${shown} follows its manifest again`;
      case 'rollback':
        return this.rollback(pod, record, request.to);
    }
  }

  /** Returns the answer to a recorded request. It begins with `later` if the runtime does the rest later. */
  private asked(now: string, later: string): string {
    if (this.deps.runtimeWaitsBecause() === undefined) return now;
    return `${later} as soon as the container runtime answers`;
  }

  private async restart(pod: Pod, container: string | undefined): Promise<string> {
    const { podStatus, lookAtPod, retryPod, clock } = this.deps;
    const { uid, name } = pod.metadata;
    if (pod.spec.restartPolicy !== 'Always') {
      const hint = `Run it anew: kubelet-ts stop ${name}, then kubelet-ts start ${name}`;
      throw new RequestRefused('conflict', `the restartPolicy of pod ${name} is not Always`, hint);
    }
    // Just after the agent started, the known status is empty.
    const isKnown = podStatus(uid).containerStatuses.length > 0;
    await withTimeout(clock, isKnown ? lookAgainTimeoutMs : lookTimeoutMs, lookAtPod(uid)).catch((error: unknown) => {
      if (!(error instanceof TimeoutError)) throw error;
      if (isKnown) return;
      throw new RequestRefused('conflict', `pod ${name} is not restarted: the container runtime does not answer`);
    });
    const ids = computeRestart(pod, podStatus(uid), container);
    if (ids === undefined) {
      throw new RequestRefused('invalid', `pod ${name} has no container ${container ?? ''} that can restart`);
    }
    if (ids.length > 0) {
      await this.ask(pod, (newest) => ({ ...newest, restart: [...new Set([...(newest.restart ?? []), ...ids])] }));
    }
    retryPod(pod.metadata);
    if (ids.length > 0) return this.asked(`pod/${name} restarts`, `pod/${name} restarts`);
    const idle = `pod/${name} has no running container, it is tried`;
    return this.asked(`${idle} now`, idle);
  }

  /** Runs a finished pod again from the beginning. */
  private async runAgain(pod: Pod): Promise<string> {
    await this.runAnew(pod);
    this.deps.startPod(this.declaredUID(pod));
    return `pod/${pod.metadata.name} runs again`;
  }

  private async rollback(pod: Pod, record: PodRecord, to: number | undefined): Promise<string> {
    const { name } = pod.metadata;
    const target = rollbackTarget(record, to);
    if (target === undefined) {
      const message = to === undefined ? `pod ${name} has no earlier revision` : `pod ${name} has no revision ${to}`;
      throw new RequestRefused('invalid', message, `kubelet-ts history ${name} lists them.`);
    }
    if (target.number === record.current) return `pod/${name} runs revision ${target.number} already`;
    const isHeld = record.pin !== undefined && record.pin.whileDeclared === undefined;
    await this.ask(pod, this.rolledBack(record, target, 'rolled back by kubelet-ts rollback', isHeld));
    if (this.recordOf(pod).current !== target.number) {
      throw new RequestRefused('conflict', `pod ${name} was not rolled back, because its manifest has just changed`);
    }
    this.deps.redeclare();
    const until = isHeld ? 'kubelet-ts unhold' : 'its manifest changes, or kubelet-ts unhold';
    return `pod/${name} rolled back to revision ${target.number} until ${until}`;
  }

  /**
   * Returns a function that changes the record to an earlier revision. It does nothing once the pod runs a different
   * revision.
   */
  private rolledBack(
    record: PodRecord,
    { number, name }: PodRevision,
    because: string,
    isHeld: boolean,
  ): (newest: PodRecord) => PodRecord {
    const declared = this.declared.get(podKey(record));
    return (newest) => {
      if (newest.current !== record.current) return newest;
      const rest = { ...withoutPin(newest), current: number };
      if (isHeld) return { ...rest, pin: { to: number, because } };
      return declared === undefined || declared === name
        ? rest
        : { ...rest, pin: { to: number, whileDeclared: declared, because } };
    };
  }

  private reviewPod(record: PodRecord): void {
    const { records, declaredPod, podStatus } = this.deps;
    const current = currentRevision(record);
    if (current === undefined || (current.wasReady && record.restart === undefined)) return;
    const pod = declaredPod(record);
    if (pod === undefined) return;
    if (record.restart !== undefined && isRestarted(record.restart, podStatus(pod.metadata.uid))) {
      records.note(withoutRestart(record));
      return;
    }
    if (current.wasReady) return;
    const noted = this.withReadiness(record);
    if (noted === record) this.rollBackIfLate(record, current, pod);
    else records.note(noted);
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
      await this.ask(pod, this.rolledBack(record, target, because, false));
      if (this.recordOf(pod).current !== target.number) return;
      podEventRecorder(emit, pod).warning(reasons.rolledBack, `${because}; revision ${target.number} runs again`);
      redeclare();
    };
    // The next review tries again.
    this.acts.run(rollBack).catch(() => undefined);
  }

  private async ask({ metadata }: Pod, change: (newest: PodRecord) => PodRecord): Promise<void> {
    await this.deps.records.ask(metadata, change).catch(refuseUnwritten);
  }

  private async runAnew({ metadata }: Pod): Promise<void> {
    await this.deps.runAnew(metadata.uid).catch(refuseUnwritten);
  }

  private refuseUnlessFit({ action }: OperationRequest, { metadata }: Pod, { isStopped }: PodRecord): void {
    const refuse = (message: string, hint?: string): never => {
      throw new RequestRefused('conflict', message, hint);
    };
    const declarers = this.deps.declarers(metadata);
    if (declarers.length > 1) {
      refuse(`pod ${metadata.name} is declared twice: by ${declarers.join(' and ')}`, 'Remove one of them first.');
    }
    if (isStopped === true && (action === 'restart' || action === 'retry')) {
      refuse(`pod ${metadata.name} is stopped`, `Start it: kubelet-ts start ${metadata.name}`);
    }
    if (isStopped !== true && this.deps.isTerminating(metadata.uid)) refuse(`pod ${metadata.name} is terminating`);
  }

  /** Returns the current UID of the declared pod. Its manifest may have changed while the request was written. */
  private declaredUID({ metadata }: Pod): string {
    return this.deps.declaredPod(metadata)?.metadata.uid ?? metadata.uid;
  }

  private recordOf({ metadata }: Pod): PodRecord {
    return this.deps.records.of(metadata) ?? emptyRecord(metadata);
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

function refuseUnwritten(error: unknown): never {
  throw new RequestRefused('conflict', `nothing was done, because it cannot be written: ${errorMessage(error)}`);
}

/** True if each of these containers has a newer instance. */
function isRestarted(ids: readonly string[], status: RuntimePodStatus): boolean {
  return status.containerStatuses.length > 0 && ![...newestIDs(status).values()].some((id) => ids.includes(id));
}

/** Returns the id of the newest instance of each container. */
function newestIDs({ containerStatuses }: RuntimePodStatus): Map<string, string> {
  return new Map([...containerStatuses].reverse().map(({ name, id }) => [name, id]));
}

const hash = ({ metadata }: Pod): string => metadata.annotations?.['kubernetes.io/config.hash'] ?? metadata.uid;
const isSameRevision = (a: Pod, b: Pod): boolean => hash(a) === hash(b);

function withoutRestart({ restart: _restart, ...rest }: PodRecord): PodRecord {
  return rest;
}

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

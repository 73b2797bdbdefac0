import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { Emit } from '../view/event-bus.ts';
import type { PodRef } from '../../api/values/pod-names.ts';
import type { Faults } from '../../flow/faults.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { RuntimePod } from '../container/pod-records.ts';
import type { WorkerSnapshot } from '../view/snapshot.ts';
import { effectiveGracePeriod } from './effective-grace-period.ts';
import { isPodPhaseTerminal, newPodSyncStatus } from './new-pod-sync-status.ts';
import { backOffPeriodMs, jittered, nextSyncDelay } from './next-sync-delay.ts';
import {
  type PendingUpdate,
  type PodSyncStatus,
  type SyncPodType,
  type UpdatePodOptions,
  workerState,
} from './pod-sync-status.ts';
import { StaticPodGate } from './static-pod-gate.ts';
import { SyncPodError } from './sync-pod-error.ts';

/** Carries out what a worker decides. A rejected promise leaves the worker's state as it is; it is tried again. */
export interface PodSyncer {
  /** Resolves to true when the pod reached a final phase by itself. */
  syncPod(type: SyncPodType, pod: Pod, podStatus: RuntimePodStatus, signal: AbortSignal): Promise<boolean>;
  syncTerminatingPod(
    pod: Pod,
    podStatus: RuntimePodStatus,
    gracePeriodSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void>;
  syncTerminatingRuntimePod(runningPod: RuntimePod, signal: AbortSignal): Promise<void>;
  syncTerminatedPod(pod: Pod, podStatus: RuntimePodStatus, signal: AbortSignal): Promise<void>;
}

interface Deps {
  syncer: PodSyncer;
  /** How often a pod that does not change is synced. */
  syncFrequencyMs: number;
  /** The status of a pod as of after `newerThan` (monotonic milliseconds). */
  getNewerThan: (uid: string, newerThan: number, signal: AbortSignal) => Promise<RuntimePodStatus>;
  /** Whatever is known of the pod without waiting. */
  getCached: (uid: string) => RuntimePodStatus;
  /** Milliseconds until something of the pod is due that no event tells of, as its deadline; undefined: nothing is. */
  dueInMs?: (uid: string) => number | undefined;
  /** Puts the pod on the work queue. */
  enqueue: (uid: string, delayMs: number) => void;
  /** This pod waited for its full name, which is free now. */
  onNameFreed: (uid: string) => void;
  clock: Clock;
  /** Uniform in [0, 1). */
  random: () => number;
  logger: Logger;
  faults: Pick<Faults, 'note'>;
  emit: Emit;
}

/** What the periodic clean-up learns of one worker. kubelet: pod_workers.go PodWorkerSync */
export interface PodWorkerSync {
  state: 'sync' | 'terminating' | 'terminated';
  orphan: boolean;
  hasConfig: boolean;
  static: boolean;
}

/**
 * One worker per pod UID, each at most one sync in flight. kubelet: pod_workers.go
 *
 * INVARIANTS: a record moves sync → terminating → terminated → finished and never back; of pending updates only the newest
 * is kept; a static pod starts only when no other started one of its full name is unfinished; terminating never waits for
 * anything but the sync in flight.
 */
export class PodWorkers {
  private readonly deps: Deps;
  private readonly records = new Map<string, PodSyncStatus>();
  private readonly gate = new StaticPodGate();
  /** The desired pods were handed over once, so that a UID without record is known to be undeclared. */
  private podsSynced = false;
  private readonly inFlight = new Set<Promise<void>>();

  constructor(deps: Deps) {
    this.deps = deps;
  }

  updatePod(options: UpdatePodOptions): void {
    const { runningPod, killPodOptions = {} } = options;
    const uid = options.pod?.metadata.uid ?? runningPod?.uid ?? '';
    let record = this.records.get(uid);
    let { pod } = options;
    let runtimeOnly: RuntimePod | undefined;
    if (pod === undefined) {
      if (options.type !== 'kill' || runningPod === undefined) return;
      pod = record?.pendingUpdate?.pod ?? record?.activeUpdate?.pod;
      if (pod === undefined) runtimeOnly = runningPod;
    }
    if (record === undefined) {
      record = newPodSyncStatus(uid, pod, runtimeOnly, this.deps.getCached(uid));
      if (record.isStatic) this.gate.wait(record);
      this.records.set(uid, record);
    } else if (record.terminating && options.type === 'create') {
      // The manifest came back while its pod still terminates: housekeeping starts it again afterwards.
      record.restartRequested = true;
      return;
    }
    if (record.finished) {
      killPodOptions.onTerminated?.();
      return;
    }

    const becameTerminating = this.requestTermination(record, options, pod);
    let shortened = false;
    let gracePeriodSeconds: number | undefined;
    if (record.terminated) {
      killPodOptions.onTerminated?.();
    } else if (record.terminating) {
      if (killPodOptions.onTerminated !== undefined) record.onTerminated.push(killPodOptions.onTerminated);
      const effective = effectiveGracePeriod(
        record.gracePeriodSeconds,
        pod ?? minimalPod(runtimeOnly),
        killPodOptions.gracePeriodSecondsOverride,
      );
      ({ shortened } = effective);
      record.gracePeriodSeconds = effective.gracePeriodSeconds;
      gracePeriodSeconds = effective.gracePeriodSeconds;
    } else {
      killPodOptions.onTerminated?.();
    }

    record.pendingUpdate = { type: options.type, pod, runningPod: runtimeOnly, gracePeriodSeconds };
    if (becameTerminating || shortened) record.abort?.abort(new Error('the pod is terminating'));
    this.signal(record);
  }

  /**
   * Ends the workers of pods that are no longer desired and forgets finished ones; the result lists the workers left.
   * kubelet: pod_workers.go SyncKnownPods
   */
  syncKnownPods(desiredUIDs: ReadonlySet<string>): Map<string, PodWorkerSync> {
    this.podsSynced = true;
    const workers = new Map<string, PodWorkerSync>();
    for (const [uid, record] of [...this.records]) {
      const orphan = !desiredUIDs.has(uid);
      if (record.restartRequested || orphan) this.removeTerminatedWorker(record, orphan);
      if (!this.records.has(uid)) continue;
      const update = record.activeUpdate ?? record.pendingUpdate;
      workers.set(uid, {
        state: record.terminated ? 'terminated' : record.terminating ? 'terminating' : 'sync',
        orphan,
        hasConfig: update?.pod !== undefined,
        static: update?.pod !== undefined && record.isStatic,
      });
    }
    return workers;
  }

  isPodKnownTerminated = (uid: string): boolean => this.records.get(uid)?.terminated ?? false;
  isPodTerminationRequested = (uid: string): boolean => this.records.get(uid)?.terminating ?? false;
  /** True: the same UID was declared again while it terminated, and starts over once that is done. */
  isRestartRequested = (uid: string): boolean => this.records.get(uid)?.restartRequested ?? false;
  /** True: the pod's containers may run. kubelet: pod_workers.go CouldHaveRunningContainers */
  couldHaveRunningContainers = (uid: string): boolean =>
    this.ask(uid, ({ terminated }) => !terminated, !this.podsSynced);
  shouldPodBeFinished = (uid: string): boolean => this.ask(uid, ({ finished }) => finished, this.podsSynced);
  shouldPodContainersBeTerminating = (uid: string): boolean =>
    this.ask(uid, ({ startedTerminating }) => startedTerminating, this.podsSynced);
  shouldPodRuntimeBeRemoved = (uid: string): boolean => this.ask(uid, ({ terminated }) => terminated, this.podsSynced);
  shouldPodContentBeRemoved = (uid: string): boolean =>
    this.ask(uid, ({ evicted, deleted, terminated }) => evicted || (deleted && terminated), this.podsSynced);

  has(uid: string): boolean {
    return this.records.has(uid);
  }

  /** The pods of records that are not finished, declared or not. */
  pods(): Pod[] {
    return this.podsOf(({ finished }) => !finished);
  }

  /** Those of which containers may run. kubelet: kubelet_pods.go GetActivePods */
  activePods(): Pod[] {
    return this.podsOf(({ terminated }) => !terminated);
  }

  snapshot(uid: string): Omit<WorkerSnapshot, 'nextSyncAt'> {
    const record = this.records.get(uid);
    if (record === undefined) return { state: 'waiting', working: false, pending: false };
    return {
      state: workerState(record),
      working: record.working,
      pending: record.pendingUpdate !== undefined,
      ...(record.lastSyncAt === undefined ? {} : { lastSyncAt: record.lastSyncAt }),
      ...(record.lastSyncMs === undefined ? {} : { lastSyncMs: record.lastSyncMs }),
      ...(record.lastSyncError === undefined ? {} : { lastSyncError: record.lastSyncError }),
    };
  }

  /** Resolves when no sync is in flight any more. With a reason, those in flight are aborted with it. */
  async drain(reason?: Error): Promise<void> {
    if (reason !== undefined) for (const record of this.records.values()) record.abort?.abort(reason);
    while (this.inFlight.size > 0) await Promise.allSettled(this.inFlight);
  }

  private podsOf(belongs: (record: PodSyncStatus) => boolean): Pod[] {
    return [...this.records.values()].flatMap((record) => {
      const pod = record.pendingUpdate?.pod ?? record.activeUpdate?.pod;
      return pod === undefined || !belongs(record) ? [] : [pod];
    });
  }

  private ask(uid: string, known: (record: PodSyncStatus) => boolean, unknown: boolean): boolean {
    const record = this.records.get(uid);
    return record === undefined ? unknown : known(record);
  }

  /** True when this update is what makes the pod terminate. */
  private requestTermination(
    record: PodSyncStatus,
    { type, killPodOptions, pod: declared }: UpdatePodOptions,
    pod: Pod | undefined,
  ): boolean {
    if (record.terminating) return false;
    if (declared === undefined || pod?.metadata.deletionTimestamp !== undefined) {
      record.deleted = true;
    } else if (type === 'kill') {
      if (killPodOptions?.evict === true) record.evicted = true;
    } else if (pod === undefined || !isPodPhaseTerminal(pod)) {
      return false;
    }
    record.terminating = true;
    this.stateChanged(record);
    return true;
  }

  private removeTerminatedWorker(record: PodSyncStatus, orphan: boolean): void {
    if (orphan && !record.started && !record.observedRuntime) {
      this.forget(record);
      return;
    }
    if (record.finished) {
      this.forget(record);
      return;
    }
    if (!orphan) return;
    record.deleted = true;
    if (!record.terminating) {
      record.terminating = true;
      const pod = record.activeUpdate?.pod;
      record.gracePeriodSeconds = pod?.spec.terminationGracePeriodSeconds ?? 1;
      this.stateChanged(record);
    }
    // Its sync in flight ends by itself: who removes a pod that is at work asks for a kill, which cuts it.
    this.replayLastUpdate(record);
  }

  private forget(record: PodSyncStatus): void {
    this.records.delete(record.uid);
    this.release(record);
    this.notifyTerminated(record);
    this.emitState(record, 'removed');
  }

  /** Runs the worker unless it runs already, which then takes the pending update by itself. */
  private signal(record: PodSyncStatus): void {
    if (record.working || record.finished) return;
    if (!this.mayStart(record)) return;
    record.working = true;
    const run = this.work(record).finally(() => {
      this.inFlight.delete(run);
    });
    this.inFlight.add(run);
    run.catch((error: unknown) => {
      this.deps.faults.note('pod worker', error);
      this.deps.enqueue(record.uid, jittered(backOffPeriodMs, this.deps.random));
    });
  }

  /** kubelet: pod_workers.go startPodSync, allowPodStart */
  private mayStart(record: PodSyncStatus): boolean {
    if (record.started || record.pendingUpdate?.pod === undefined || !record.isStatic) return true;
    if (record.terminating) {
      this.finishUnstarted(record);
      return false;
    }
    if (!this.gate.enter(record, (uid) => this.records.get(uid))) {
      this.deps.enqueue(record.uid, jittered(backOffPeriodMs, this.deps.random));
      return false;
    }
    return true;
  }

  /** A pod that never started has nothing to stop. kubelet: pod_workers.go cleanupUnstartedPod */
  private finishUnstarted(record: PodSyncStatus): void {
    record.terminated = true;
    record.finished = true;
    record.pendingUpdate = undefined;
    this.stateChanged(record);
    this.release(record);
    this.notifyTerminated(record);
  }

  private async work(record: PodSyncStatus): Promise<void> {
    try {
      await this.syncWhilePending(record);
    } finally {
      record.working = false;
    }
  }

  private async syncWhilePending(record: PodSyncStatus): Promise<void> {
    for (;;) {
      const update = record.pendingUpdate;
      if (update === undefined || record.finished) return;
      record.pendingUpdate = undefined;
      record.activeUpdate = {
        ...update,
        pod: update.pod ?? record.activeUpdate?.pod,
        gracePeriodSeconds: update.gracePeriodSeconds ?? record.activeUpdate?.gracePeriodSeconds,
      };
      if (!record.started) {
        record.started = true;
        this.stateChanged(record);
      }
      await this.syncOnce(record, record.activeUpdate);
    }
  }

  private async syncOnce(record: PodSyncStatus, update: PendingUpdate): Promise<void> {
    const { clock, emit } = this.deps;
    record.abort = new AbortController();
    const startedAt = clock.monotonic();
    const state = workerState(record);
    const pod = refOf(update);
    emit({ type: 'SyncStarted', pod, state });
    let error: unknown;
    let phaseTransition = false;
    try {
      phaseTransition = await this.dispatch(record, update, record.abort.signal);
    } catch (caught) {
      error = caught;
      if (!record.abort.signal.aborted) this.logFailure(record, caught);
    }
    record.abort = undefined;
    record.syncedAt = clock.monotonic();
    record.lastSyncAt = clock.now();
    record.lastSyncMs = record.syncedAt - startedAt;
    record.lastSyncError = error === undefined ? undefined : errorMessage(error);
    const delayMs = this.completeWork(record, phaseTransition, error);
    emit({
      type: 'SyncFinished',
      pod,
      durationMs: record.lastSyncMs,
      ...(record.lastSyncError === undefined ? {} : { error: record.lastSyncError }),
      nextSyncAt: clock.now() + (delayMs ?? 0),
    });
  }

  /** What can happen to any pod is told in a line; anything else is a bug, with its stack. */
  private logFailure({ fullName, uid }: PodSyncStatus, error: unknown): void {
    const { logger } = this.deps;
    const facts = { pod: fullName, podUID: uid };
    if (error instanceof SyncPodError) {
      const level = error.isTold ? 'debug' : 'warn';
      logger[level]({ ...facts, err: error.message }, 'Error syncing pod, skipping');
    } else logger.error({ ...facts, err: error }, 'Error syncing pod, skipping');
  }

  /** One of the syncs, by the state of the record; resolves to true when the state moved on. */
  private async dispatch(record: PodSyncStatus, update: PendingUpdate, signal: AbortSignal): Promise<boolean> {
    const { syncer, getNewerThan } = this.deps;
    if (update.pod === undefined) {
      if (update.runningPod === undefined)
        throw new Error(`Worker of pod ${record.uid} has neither pod nor running pod`);
      record.startedTerminating = true;
      await syncer.syncTerminatingRuntimePod(update.runningPod, signal);
      this.completeTerminatingRuntimePod(record);
      return false;
    }
    const podStatus = await getNewerThan(record.uid, record.syncedAt, signal);
    if (record.terminated) {
      await syncer.syncTerminatedPod(update.pod, podStatus, signal);
      this.completeTerminated(record);
      return false;
    }
    if (record.terminating) {
      record.startedTerminating = true;
      await syncer.syncTerminatingPod(update.pod, podStatus, update.gracePeriodSeconds, signal);
      this.completeTerminating(record);
      return true;
    }
    const isTerminal = await syncer.syncPod(update.type, update.pod, podStatus, signal);
    if (isTerminal) this.completeSync(record);
    return isTerminal;
  }

  /** The pod reached a final phase by itself. kubelet: pod_workers.go completeSync */
  private completeSync(record: PodSyncStatus): void {
    if (!record.terminating) {
      record.terminating = true;
      this.stateChanged(record);
    }
    this.replayLastUpdate(record);
  }

  private completeTerminating(record: PodSyncStatus): void {
    record.terminated = true;
    this.notifyTerminated(record);
    this.stateChanged(record);
    this.replayLastUpdate(record);
  }

  private completeTerminated(record: PodSyncStatus): void {
    record.finished = true;
    record.pendingUpdate = undefined;
    this.release(record);
    this.stateChanged(record);
  }

  /** Frees the full name and says who is next in line for it. */
  private release(record: PodSyncStatus): void {
    this.gate.release(record);
    const next = this.gate.next(record.fullName, (uid) => this.records.get(uid));
    if (next !== undefined) this.deps.onNameFreed(next);
  }

  private completeTerminatingRuntimePod(record: PodSyncStatus): void {
    record.terminated = true;
    record.finished = true;
    record.pendingUpdate = undefined;
    this.notifyTerminated(record);
    this.forget(record);
  }

  /** Puts the pod back on the queue; the result is the delay, undefined when the worker is done for good. */
  private completeWork(record: PodSyncStatus, phaseTransition: boolean, error: unknown): number | undefined {
    if (record.finished) return undefined;
    const dueInMs = record.terminating ? undefined : this.deps.dueInMs?.(record.uid);
    const delayMs = phaseTransition ? 0 : Math.min(nextSyncDelay(error, this.deps), Math.ceil(dueInMs ?? Infinity));
    this.deps.enqueue(record.uid, delayMs);
    return delayMs;
  }

  private replayLastUpdate(record: PodSyncStatus): void {
    const last = record.activeUpdate;
    if (last === undefined || record.pendingUpdate !== undefined) {
      if (record.pendingUpdate !== undefined) this.signal(record);
      return;
    }
    record.pendingUpdate = last;
    this.signal(record);
  }

  private notifyTerminated(record: PodSyncStatus): void {
    for (const listener of record.onTerminated.splice(0)) listener();
  }

  private stateChanged(record: PodSyncStatus): void {
    this.emitState(record, workerState(record));
  }

  private emitState(record: PodSyncStatus, state: ReturnType<typeof workerState> | 'removed'): void {
    const update = record.pendingUpdate ?? record.activeUpdate;
    // Of a pod that never started no update is left.
    const pod = update === undefined ? refOfRecord(record) : refOf(update);
    this.deps.emit({ type: 'WorkerStateChanged', pod, state });
  }
}

function refOfRecord({ fullName, uid }: PodSyncStatus): PodRef {
  const [name = '', namespace = ''] = fullName.split('_');
  return { namespace, name, uid };
}

function refOf({ pod, runningPod }: PendingUpdate): PodRef {
  const { namespace = '', name = '', uid = '' } = pod?.metadata ?? runningPod ?? {};
  return { namespace, name, uid };
}

function minimalPod(runningPod: RuntimePod | undefined): Pod {
  const { name = '', namespace = '', uid = '' } = runningPod ?? {};
  return { metadata: { name, namespace, uid }, spec: { containers: [] } };
}

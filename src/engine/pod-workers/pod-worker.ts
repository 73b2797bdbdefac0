import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { Emit } from '../view/event-bus.ts';
import { podFullName, type PodRef, podRef } from '../../api/values/pod-names.ts';
import type { Faults } from '../../flow/faults.ts';
import { mayBeRunning, type RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { RuntimePod } from '../container/runtime-pod.ts';
import type { WorkerSnapshot } from '../view/snapshot.ts';
import { isStaticPod } from '../../api/values/config-annotations.ts';
import { isPodPhaseTerminal } from '../../api/values/pod-phase.ts';
import { backOffPeriodMs, jittered, nextSyncDelay } from './next-sync-delay.ts';
import type { PodWork, SyncPodType, UpdatePodOptions } from './update-pod-options.ts';
import type { PodWorkerState } from '../view/pod-worker-state.ts';
import { type EndCause, endingOf, hasTerminated, newEnding, type WorkerState } from './worker-state.ts';
import { SyncPodError } from './sync-pod-error.ts';

/** Executes a worker's syncs. If a sync rejects, the worker keeps its state and retries. */
export interface PodSyncer {
  /** Resolves with true if the pod reached a final phase by itself. */
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

export interface PodWorkerDeps {
  syncer: PodSyncer;
  /** Period between syncs of an unchanged pod. */
  syncFrequencyMs: number;
  /** Reads the status of a pod that is newer than this time. */
  getNewerThan: (uid: string, newerThanMonotonic: number, signal: AbortSignal) => Promise<RuntimePodStatus>;
  /**
   * Milliseconds until a sync is due without an event, for example for the pod's deadline. Returns undefined if there
   * is none.
   */
  dueInMs?: (uid: string) => number | undefined;
  /** Puts the pod on the work queue. */
  enqueue: (uid: string, delayMs: number) => void;
  clock: Clock;
  /** Uniform in [0, 1). */
  random: () => number;
  logger: Logger;
  faults: Pick<Faults, 'record'>;
  emit: Emit;
}

/** Dependencies shared by all workers. */
interface Deps extends PodWorkerDeps {
  /** True if no other pod holds the full name of this static pod. */
  mayStart: (worker: PodWorker) => boolean;
  /** Called when the worker has finished. */
  onFinished: (worker: PodWorker) => void;
  /** Called when the worker must be dropped. */
  onDone: (worker: PodWorker) => void;
  /** Running workers. */
  running: Set<Promise<void>>;
}

/**
 * The worker of one pod UID, with at most one sync in flight. kubelet: pod_workers.go podSyncStatus, podWorkerLoop
 *
 * INVARIANTS: its state only advances. Only the newest pending update is kept. A termination waits only for the sync in
 * flight.
 */
export class PodWorker {
  readonly uid: string;
  readonly fullName: string;
  readonly isStatic: boolean;
  state: WorkerState;
  private pendingUpdate: PodWork | undefined;
  /** The update of the newest sync. */
  private activeUpdate: PodWork | undefined;
  /** Aborts the sync in flight. Undefined while the worker is idle. */
  private inFlight: AbortController | undefined;
  private lastSync: { endedAt: number; endedAtMonotonic: number; durationMs: number; error?: string } | undefined;

  /** `ref`: the pod's first known name. `pod` is undefined for a pod that was only found in the runtime. */
  constructor(
    private readonly deps: Deps,
    private readonly ref: PodRef,
    pod: Pod | undefined,
    podStatus: RuntimePodStatus,
  ) {
    this.uid = ref.uid;
    this.fullName = podFullName(ref);
    this.isStatic = pod !== undefined && isStaticPod(pod);
    // A finished pod without running containers only needs its terminated sync.
    const isOver = pod !== undefined && isPodPhaseTerminal(pod.status?.phase) && !mayBeRunning(podStatus);
    this.state = isOver
      ? { name: 'terminated', ending: { ...newEnding('over'), hasBegun: true } }
      : { name: 'waiting' };
  }

  /** The newest declaration. Undefined for a pod that was only found in the runtime. */
  get pod(): Pod | undefined {
    return this.pendingUpdate?.pod ?? this.activeUpdate?.pod;
  }

  /** True once its first sync has started. */
  get hasStarted(): boolean {
    return this.activeUpdate !== undefined;
  }

  snapshot(): Omit<WorkerSnapshot, 'nextSyncAt'> {
    const { endedAt, durationMs, error } = this.lastSync ?? {};
    return {
      state: this.state.name,
      working: this.inFlight !== undefined,
      pending: this.pendingUpdate !== undefined,
      ...(endedAt === undefined ? {} : { lastSyncAt: endedAt }),
      ...(durationMs === undefined ? {} : { lastSyncMs: durationMs }),
      ...(error === undefined ? {} : { lastSyncError: error }),
    };
  }

  update(options: UpdatePodOptions): void {
    const { type, runningPod, killPodOptions: { onTerminated, gracePeriodSecondsOverride } = {} } = options;
    const { pod = this.pod } = options;
    if (this.state.name === 'finished') {
      onTerminated?.();
      return;
    }
    const cause = endingOf(this.state) === undefined ? endCause(options) : undefined;
    if (cause !== undefined) this.terminate(cause);
    let gracePeriodSeconds: number | undefined;
    let shortened = false;
    if (this.state.name === 'terminating') {
      if (onTerminated !== undefined) this.state.onTerminated.push(onTerminated);
      ({ gracePeriodSeconds, shortened } = effectiveGracePeriod(
        this.state.gracePeriodSeconds,
        pod,
        gracePeriodSecondsOverride,
      ));
      this.state.gracePeriodSeconds = gracePeriodSeconds;
    } else onTerminated?.();
    this.pendingUpdate = { type, pod, runningPod: pod === undefined ? runningPod : undefined, gracePeriodSeconds };
    if (cause !== undefined || shortened) this.inFlight?.abort(new Error('the pod is terminating'));
    this.signal();
  }

  /** Terminates a pod that is no longer declared. Unlike a kill, does not abort its sync in flight. */
  orphan(): void {
    const ending = endingOf(this.state);
    if (ending === undefined) {
      this.terminate('deleted', this.activeUpdate?.pod?.spec.terminationGracePeriodSeconds ?? 1);
    } else if (ending.cause !== 'evicted') ending.cause = 'deleted';
    this.replayLastUpdate();
  }

  drop(): void {
    this.deps.onDone(this);
    const { state } = this;
    this.state = { name: 'finished', ending: endingOf(state) ?? newEnding('deleted') };
    notifyTerminated(state);
    this.emitState('removed');
  }

  abort(reason: Error): void {
    this.inFlight?.abort(reason);
  }

  private terminate(cause: EndCause, gracePeriodSeconds = 0): void {
    this.moveTo({ name: 'terminating', ending: newEnding(cause), gracePeriodSeconds, onTerminated: [] });
  }

  private moveTo(state: WorkerState): void {
    const before = this.state;
    this.state = state;
    if (state.name === 'finished') this.pendingUpdate = undefined;
    if (hasTerminated(state)) notifyTerminated(before);
    this.emitState(state.name);
    if (state.name === 'finished') this.deps.onFinished(this);
  }

  /** Starts to work if idle. Otherwise the pending update follows the current one. */
  private signal(): void {
    const { deps } = this;
    if (this.inFlight !== undefined || this.state.name === 'finished' || !this.begin()) return;
    const run = this.work().finally(() => {
      deps.running.delete(run);
    });
    deps.running.add(run);
    run.catch((error: unknown) => {
      deps.faults.record('pod worker', error);
      deps.enqueue(this.uid, jittered(backOffPeriodMs, deps.random));
    });
  }

  /**
   * False if the pod may not start yet, or must finish without having started. kubelet: pod_workers.go startPodSync,
   * allowPodStart, cleanupUnstartedPod
   */
  private begin(): boolean {
    if (this.hasStarted || !this.isStatic) return true;
    const ending = endingOf(this.state);
    if (ending !== undefined) {
      this.moveTo({ name: 'finished', ending });
      return false;
    }
    const { mayStart, enqueue, random } = this.deps;
    if (mayStart(this)) return true;
    enqueue(this.uid, jittered(backOffPeriodMs, random));
    return false;
  }

  private async work(): Promise<void> {
    try {
      for (;;) {
        const update = this.pendingUpdate;
        if (update === undefined || this.state.name === 'finished') return;
        this.pendingUpdate = undefined;
        const { pod, gracePeriodSeconds } = this.activeUpdate ?? {};
        this.activeUpdate = {
          ...update,
          pod: update.pod ?? pod,
          gracePeriodSeconds: update.gracePeriodSeconds ?? gracePeriodSeconds,
        };
        this.inFlight = new AbortController();
        if (this.state.name === 'waiting') this.moveTo({ name: 'sync' });
        await this.syncOnce(this.activeUpdate, this.inFlight.signal);
      }
    } finally {
      this.inFlight = undefined;
    }
  }

  private async syncOnce(update: PodWork, signal: AbortSignal): Promise<void> {
    const { clock, emit } = this.deps;
    const startedAtMonotonic = clock.monotonic();
    const pod = this.currentRef();
    emit({ type: 'SyncStarted', pod, state: this.state.name });
    let error: unknown;
    let phaseTransition = false;
    try {
      phaseTransition = await this.dispatch(update, signal);
    } catch (caught) {
      error = caught;
      if (!signal.aborted) this.logFailure(caught);
    }
    const endedAtMonotonic = clock.monotonic();
    const durationMs = endedAtMonotonic - startedAtMonotonic;
    const failure = error === undefined ? {} : { error: errorMessage(error) };
    this.lastSync = { endedAt: clock.now(), endedAtMonotonic, durationMs, ...failure };
    const delayMs = this.completeWork(phaseTransition, error);
    emit({ type: 'SyncFinished', pod, durationMs, ...failure, nextSyncAt: clock.now() + (delayMs ?? 0) });
  }

  /** Logs an expected failure in one line, and any other as a bug with its stack. */
  private logFailure(error: unknown): void {
    const { logger } = this.deps;
    const facts = { pod: this.fullName, podUID: this.uid };
    if (error instanceof SyncPodError) {
      const level = error.isReported ? 'debug' : 'warn';
      logger[level]({ ...facts, err: error.message }, 'Error syncing pod, skipping');
    } else logger.error({ ...facts, err: error }, 'Error syncing pod, skipping');
  }

  /** Runs the sync for the current state. Resolves with true if the state advanced. */
  private async dispatch(
    { type, pod, runningPod, gracePeriodSeconds }: PodWork,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { syncer, getNewerThan } = this.deps;
    if (pod === undefined) {
      if (runningPod === undefined) throw new Error(`Worker of pod ${this.uid} has neither pod nor running pod`);
      this.recordBegun();
      await syncer.syncTerminatingRuntimePod(runningPod, signal);
      this.drop();
      return false;
    }
    const podStatus = await getNewerThan(this.uid, this.lastSync?.endedAtMonotonic ?? -Infinity, signal);
    switch (this.state.name) {
      case 'terminated':
      case 'finished':
        await syncer.syncTerminatedPod(pod, podStatus, signal);
        this.moveTo({ name: 'finished', ending: this.state.ending });
        return false;
      case 'terminating':
        this.recordBegun();
        await syncer.syncTerminatingPod(pod, podStatus, gracePeriodSeconds, signal);
        this.moveTo({ name: 'terminated', ending: this.state.ending });
        this.replayLastUpdate();
        return true;
      case 'waiting':
      case 'sync':
        if (!(await syncer.syncPod(type, pod, podStatus, signal))) return false;
        // The pod reached a final phase by itself. kubelet: pod_workers.go completeSync
        if (endingOf(this.state) === undefined) this.terminate('over');
        this.replayLastUpdate();
        return true;
    }
  }

  private recordBegun(): void {
    const ending = endingOf(this.state);
    if (ending !== undefined) ending.hasBegun = true;
  }

  /** Enqueues the pod's next sync. Returns the delay, or undefined if the worker has finished. */
  private completeWork(phaseTransition: boolean, error: unknown): number | undefined {
    const { deps, state } = this;
    if (state.name === 'finished') return undefined;
    const dueInMs = endingOf(state) === undefined ? deps.dueInMs?.(this.uid) : undefined;
    const delayMs = phaseTransition
      ? 0
      : Math.min(
          nextSyncDelay(error, { ...deps, nowMonotonic: deps.clock.monotonic() }),
          Math.ceil(dueInMs ?? Infinity),
        );
    deps.enqueue(this.uid, delayMs);
    return delayMs;
  }

  private replayLastUpdate(): void {
    this.pendingUpdate ??= this.activeUpdate;
    if (this.pendingUpdate !== undefined) this.signal();
  }

  private emitState(state: PodWorkerState | 'removed'): void {
    this.deps.emit({ type: 'WorkerStateChanged', pod: this.currentRef(), state });
  }

  private currentRef(): PodRef {
    return this.pod === undefined ? this.ref : podRef(this.pod);
  }
}

function notifyTerminated(state: WorkerState): void {
  if (state.name === 'terminating') for (const listener of state.onTerminated.splice(0)) listener();
}

/** The reason why this update terminates the pod, or undefined if it does not. */
function endCause({ type, killPodOptions, pod }: UpdatePodOptions): EndCause | undefined {
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return 'deleted';
  if (type === 'kill') return killPodOptions?.evict === true ? 'evicted' : 'over';
  return isPodPhaseTerminal(pod.status?.phase) ? 'over' : undefined;
}

/**
 * Grace period of a pod in seconds, at least 1. A deletion or kill may shorten the pod's grace period but never extend
 * it. If `shortened`, a running kill must use the new value. kubelet: pod_workers.go calculateEffectiveGracePeriod
 */
export function effectiveGracePeriod(
  current: number,
  pod: Pod | undefined,
  override: number | undefined,
): { gracePeriodSeconds: number; shortened: boolean } {
  let seconds = current;
  let overridden = false;
  for (const shorter of [pod?.metadata.deletionGracePeriodSeconds, override]) {
    if (shorter === undefined || (seconds !== 0 && shorter >= seconds)) continue;
    seconds = shorter;
    overridden = true;
  }
  if (!overridden && seconds === 0) seconds = pod?.spec.terminationGracePeriodSeconds ?? 0;
  seconds = Math.max(seconds, 1);
  return { gracePeriodSeconds: seconds, shortened: current !== 0 && current !== seconds };
}

import type { Pod } from '../../api/types.ts';
import type { PodRef } from '../../api/values/pod-names.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { PodWorkerState } from '../view/pod-worker-state.ts';
import type { WorkerSnapshot } from '../view/snapshot.ts';
import type { UpdatePodOptions } from './update-pod-options.ts';
import { endingOf, hasTerminated } from './worker-state.ts';
import { PodWorker, type PodWorkerDeps } from './pod-worker.ts';

interface Deps extends PodWorkerDeps {
  /** The known status of the pod, without waiting. */
  getCached: (uid: string) => RuntimePodStatus;
  /** Called for a waiting pod whose full name is now free. */
  onNameFreed: (uid: string) => void;
}

/** A worker's state for the periodic clean-up. kubelet: pod_workers.go PodWorkerSync */
export interface PodWorkerSync {
  state: 'sync' | 'terminating' | 'terminated';
  orphan: boolean;
  hasConfig: boolean;
  static: boolean;
}

/**
 * One worker per pod UID. kubelet: pod_workers.go
 *
 * INVARIANT: a static pod starts only after all other started pods with its full name have finished.
 */
export class PodWorkers {
  private readonly workerDeps: ConstructorParameters<typeof PodWorker>[0];
  private readonly workers = new Map<string, PodWorker>();
  private readonly gate = new StaticPodGate();
  /** True after the first list of desired pods. After that, a UID without a worker is undeclared. */
  private podsSynced = false;
  private readonly running = new Set<Promise<void>>();

  constructor(private readonly deps: Deps) {
    this.workerDeps = {
      ...deps,
      running: this.running,
      mayStart: (worker) => this.gate.mayStart(worker),
      onFinished: (worker) => {
        this.freeName(worker);
      },
      onDone: (worker) => {
        this.workers.delete(worker.uid);
        this.freeName(worker);
      },
    };
  }

  updatePod(options: UpdatePodOptions): void {
    const { type, pod, runningPod } = options;
    const named = pod?.metadata ?? (type === 'kill' ? runningPod : undefined);
    if (named === undefined) return;
    const { uid, name, namespace } = named;
    const worker = this.workers.get(uid);
    const ending = worker && endingOf(worker.state);
    // The pod is declared again while it terminates. Housekeeping starts it again afterwards.
    if (type === 'create' && ending !== undefined) ending.restartRequested = true;
    else (worker ?? this.newWorker({ namespace, name, uid }, pod)).update(options);
  }

  /**
   * Terminates the workers of pods that are no longer desired, and drops finished ones. Returns the remaining workers.
   * kubelet: pod_workers.go SyncKnownPods
   */
  syncKnownPods(desiredUIDs: ReadonlySet<string>): Map<string, PodWorkerSync> {
    this.podsSynced = true;
    const isOrphan = ({ uid }: PodWorker): boolean => !desiredUIDs.has(uid);
    for (const worker of [...this.workers.values()]) this.removeTerminated(worker, isOrphan(worker));
    return new Map([...this.workers].map(([uid, worker]) => [uid, toPodWorkerSync(worker, isOrphan(worker))]));
  }

  isPodKnownTerminated = (uid: string): boolean => this.ask(uid, ({ state }) => hasTerminated(state), false);
  isPodTerminationRequested = (uid: string): boolean =>
    this.ask(uid, ({ state }) => endingOf(state) !== undefined, false);
  /** True if the UID was declared again while it terminated. It restarts afterwards. */
  isRestartRequested = (uid: string): boolean =>
    this.ask(uid, ({ state }) => endingOf(state)?.restartRequested === true, false);
  /** True if the pod's containers may run. kubelet: pod_workers.go CouldHaveRunningContainers */
  couldHaveRunningContainers = (uid: string): boolean =>
    this.ask(uid, ({ state }) => !hasTerminated(state), !this.podsSynced);
  shouldPodBeFinished = (uid: string): boolean =>
    this.ask(uid, ({ state }) => state.name === 'finished', this.podsSynced);
  shouldPodContainersBeTerminating = (uid: string): boolean =>
    this.ask(uid, ({ state }) => endingOf(state)?.hasBegun === true, this.podsSynced);
  shouldPodRuntimeBeRemoved = (uid: string): boolean =>
    this.ask(uid, ({ state }) => hasTerminated(state), this.podsSynced);
  shouldPodContentBeRemoved = (uid: string): boolean =>
    this.ask(
      uid,
      ({ state }) => {
        const cause = endingOf(state)?.cause;
        return cause === 'evicted' || (cause === 'deleted' && hasTerminated(state));
      },
      this.podsSynced,
    );

  has(uid: string): boolean {
    return this.workers.has(uid);
  }

  /** The pods of unfinished workers, declared or not. */
  pods(): Pod[] {
    return this.podsOf(({ state }) => state.name !== 'finished');
  }

  /** States of the workers of pods that were only found in the runtime. */
  runtimeOnlyStates(): PodWorkerState[] {
    return [...this.workers.values()].filter(({ pod }) => pod === undefined).map(({ state }) => state.name);
  }

  /** Pods whose containers may run. kubelet: kubelet_pods.go GetActivePods */
  activePods(): Pod[] {
    return this.podsOf(({ state }) => !hasTerminated(state));
  }

  snapshot(uid: string): Omit<WorkerSnapshot, 'nextSyncAt'> {
    return this.workers.get(uid)?.snapshot() ?? { state: 'waiting', working: false, pending: false };
  }

  /** Resolves when no sync is in flight. With a reason, aborts the syncs in flight. */
  async drain(reason?: Error): Promise<void> {
    if (reason !== undefined) for (const worker of this.workers.values()) worker.abort(reason);
    while (this.running.size > 0) await Promise.allSettled(this.running);
  }

  private newWorker(ref: PodRef, pod: Pod | undefined): PodWorker {
    const worker = new PodWorker(this.workerDeps, ref, pod, this.deps.getCached(ref.uid));
    if (worker.isStatic) this.gate.join(worker);
    this.workers.set(ref.uid, worker);
    return worker;
  }

  private freeName(worker: PodWorker): void {
    const next = this.gate.leave(worker);
    if (next !== undefined) this.deps.onNameFreed(next);
  }

  private removeTerminated(worker: PodWorker, isOrphan: boolean): void {
    const { state, hasStarted } = worker;
    const isRemoved = isOrphan || endingOf(state)?.restartRequested === true;
    if (isRemoved && (state.name === 'finished' || (isOrphan && !hasStarted))) worker.drop();
    else if (isOrphan) worker.orphan();
  }

  private podsOf(belongs: (worker: PodWorker) => boolean): Pod[] {
    return [...this.workers.values()].flatMap((worker) => (belongs(worker) ? (worker.pod ?? []) : []));
  }

  private ask(uid: string, known: (worker: PodWorker) => boolean, unknown: boolean): boolean {
    const worker = this.workers.get(uid);
    return worker === undefined ? unknown : known(worker);
  }
}

function toPodWorkerSync({ state, pod, isStatic }: PodWorker, orphan: boolean): PodWorkerSync {
  const sync = hasTerminated(state) ? 'terminated' : state.name === 'terminating' ? 'terminating' : 'sync';
  return { state: sync, orphan, hasConfig: pod !== undefined, static: pod !== undefined && isStatic };
}

interface NamedPod {
  fullName: string;
  uid: string;
}

/**
 * Lets one static pod per full name start at a time. The others wait in order. kubelet: pod_workers.go
 * allowStaticPodStart
 */
class StaticPodGate {
  /** UIDs by full name. The first one holds the name. */
  private readonly lines = new Map<string, string[]>();

  join({ fullName, uid }: NamedPod): void {
    this.lines.set(fullName, [...(this.lines.get(fullName) ?? []), uid]);
  }

  mayStart({ fullName, uid }: NamedPod): boolean {
    return this.lines.get(fullName)?.[0] === uid;
  }

  /** Returns the UID of the pod that now holds the freed name, or undefined. */
  leave({ fullName, uid }: NamedPod): string | undefined {
    const line = this.lines.get(fullName) ?? [];
    const rest = line.filter((other) => other !== uid);
    if (rest.length === 0) this.lines.delete(fullName);
    else this.lines.set(fullName, rest);
    return rest[0] === line[0] ? undefined : rest[0];
  }
}

import type { Pod } from '../../api/types.ts';
import { alwaysRestarts, restartPolicyOf } from '../../api/values/restart-rules.ts';
import type { PodName } from '../../api/values/pod-names.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage, RequestRefused } from '../../errors.ts';
import { TimeoutError, withTimeout } from '../../flow/with-timeout.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import { rollbackTarget } from './compute-revision.ts';
import { computeRestart, restartable } from './compute-restart.ts';
import { declaredOrRefused, type OperationRequest } from './operation.ts';
import { emptyRecord, type PodRecord, withoutPin } from './pod-record.ts';
import type { PodRecords } from './pod-records.ts';
import type { PodRevisions } from './pod-revisions.ts';

/** Longest waits for the runtime's answer about a pod: in general, and if its containers are already known. */
const relistTimeoutMs = 10_000;
const knownTimeoutMs = 1000;

interface Deps {
  records: PodRecords;
  revisions: Pick<PodRevisions, 'acceptDeclared' | 'changes' | 'rollBack'>;
  /** Returns the pod of this name that runs or should run. Returns undefined if none is declared. */
  declaredPod: (pod: PodName) => Pod | undefined;
  /** Returns the sources whose last list has a pod of this name. */
  declarers: (pod: PodName) => string[];
  isTerminating: (uid: string) => boolean;
  /** Returns the last known status of a pod in the runtime. */
  podStatus: (uid: string) => RuntimePodStatus;
  /** Reads the status of a pod from the runtime. */
  relistPod: (uid: string) => Promise<void>;
  /** Returns why the runtime does nothing now. Returns undefined if it answers. */
  runtimeWaitsBecause: () => string | undefined;
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
  clock: Clock;
}

/**
 * Handles requests of operators for declared pods.
 *
 * INVARIANTS: a request is on disk before it is executed. Executing it again changes nothing.
 */
export class PodOperations {
  constructor(private readonly deps: Deps) {}

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

  /** Writes a request to disk, then executes it. Resolves with a sentence for the operator. */
  act(request: OperationRequest, signal?: AbortSignal): Promise<string> {
    return this.deps.revisions.changes.run(() => this.actNow(request), signal);
  }

  /** Drops the requested restarts that are done. Called periodically. */
  review(): void {
    const { records, declaredPod, podStatus } = this.deps;
    for (const record of records.all()) {
      const pod = declaredPod(record);
      if (pod === undefined || record.restart === undefined) continue;
      if (isRestarted(record.restart, podStatus(pod.metadata.uid))) records.save(withoutRestart(record));
    }
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
        if (!alwaysRestarts(pod.spec)) await this.runAnew(pod);
        await this.acceptDeclared(pod);
        await this.ask(pod, ({ isStopped: _isStopped, ...started }) => started);
        this.deps.startPod(this.declaredUID(pod));
        return this.asked(`${shown} started`, `${shown} starts`);
      }
      case 'restart':
        if (await this.acceptDeclared(pod)) return `${shown} changes to the newest revision`;
        return this.deps.hasEnded(pod.metadata.uid) ? this.runAgain(pod) : this.restart(pod, request.container);
      case 'retry':
        if (this.deps.hasEnded(pod.metadata.uid)) return this.runAgain(pod);
        this.deps.retryPod(request.pod);
        return this.asked(`retrying ${shown} now`, `retrying ${shown}`);
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
    const { podStatus, relistPod, retryPod, clock } = this.deps;
    const { uid, name } = pod.metadata;
    const ends = restartable(pod, container).find((one) => restartPolicyOf(one, pod.spec) !== 'Always');
    if (ends !== undefined) {
      const hint = `Run the pod again: kubelet-ts stop ${name}, then kubelet-ts start ${name}`;
      const whose = ends.restartPolicy === undefined ? `pod ${name}` : `container ${ends.name}`;
      throw new RequestRefused('conflict', `the restartPolicy of ${whose} is not Always`, hint);
    }
    // Just after the agent started, the known status is empty.
    const isKnown = podStatus(uid).containerStatuses.length > 0;
    await withTimeout(clock, isKnown ? knownTimeoutMs : relistTimeoutMs, relistPod(uid)).catch((error: unknown) => {
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
    const idle = `pod/${name} has no running container; the agent tries to start it`;
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
    const because = 'rolled back by kubelet-ts rollback';
    const isDone = await this.deps.revisions.rollBack(record, target, { because, isHeld }).catch(refuseUnwritten);
    if (!isDone) {
      throw new RequestRefused('conflict', `pod ${name} was not rolled back, because its manifest has just changed`);
    }
    this.deps.redeclare();
    const until = isHeld ? 'kubelet-ts unhold' : 'its manifest changes, or kubelet-ts unhold';
    return `pod/${name} rolled back to revision ${target.number} until ${until}`;
  }

  private async ask({ metadata }: Pod, change: (newest: PodRecord) => PodRecord): Promise<void> {
    await this.deps.records.ask(metadata, change).catch(refuseUnwritten);
  }

  private acceptDeclared(pod: Pod): Promise<boolean> {
    return this.deps.revisions.acceptDeclared(pod).catch(refuseUnwritten);
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

function withoutRestart({ restart: _restart, ...rest }: PodRecord): PodRecord {
  return rest;
}

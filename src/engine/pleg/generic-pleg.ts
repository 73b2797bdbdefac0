import type { Clock } from '../../clock.ts';
import { isUnavailable } from '../../cri/errors.ts';
import { toError } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { AsyncQueue } from '../../flow/async-queue.ts';
import { untilTick } from '../../flow/ticks.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { Meter } from '../view/meter.ts';
import { Lane } from './lane.ts';
import type { PodCache } from './pod-cache.ts';
import type { PodLifecycleEvent } from '../container/pod-lifecycle-event.ts';
import type { RuntimePod } from '../container/runtime-pod.ts';
import { computePodLifecycleEvents } from './compute-pod-lifecycle-events.ts';

/** Time between relists. kubelet: kubelet.go genericPlegRelistPeriod */
export const relistPeriodMs = 1000;
/** kubelet: kubelet.go genericPlegRelistThreshold */
const relistThresholdMs = 180_000;

export interface PlegRuntime {
  /** All pods in the runtime, or the one with this `uid`. */
  getPods(options: { signal: AbortSignal; uid?: string }): Promise<RuntimePod[]>;
  /** `listed` is the pod from a recent `getPods`. */
  getPodStatus(uid: string, options: { listed: RuntimePod; signal: AbortSignal }): Promise<RuntimePodStatus>;
  /** Resolves with undefined if the container is missing. */
  getContainerStatus(id: string, options: { signal: AbortSignal }): Promise<RuntimeContainerStatus | undefined>;
}

interface Deps {
  runtime: PlegRuntime;
  cache: PodCache;
  clock: Clock;
  logger: Logger;
  meter?: Pick<Meter, 'relisted'> | undefined;
  /** Called with the events of one pod, once the cache has its status. */
  onEvents: (events: PodLifecycleEvent[], status: RuntimePodStatus) => void;
}

/** State of one pod. */
interface PodRecord {
  readonly uid: string;
  /** The pod as listed when its status was last read. */
  seen: RuntimePod | undefined;
  /** The pod as listed last, if it differs and its status has not been read yet. */
  listed: RuntimePod | undefined;
  /** True if reading its status failed. */
  needsReading: boolean;
  /** True if its status was read during the current listing, which may therefore be older. */
  isNewerThanListing: boolean;
  /** What to read after the current read: exited containers, or the whole pod. */
  asked: readonly string[] | 'everything';
  readonly lane: Lane;
}

/**
 * Finds pod lifecycle events by relisting the runtime. kubelet: pleg/generic.go
 *
 * INVARIANTS: one full listing runs at a time, and one read per pod. A pod that cannot be read does not block others. A
 * pod's record advances only after its status is read, so no change is lost. The cache is written before events are
 * sent. A listing is ignored for pods that were read after it started.
 */
export class GenericPleg {
  /** By UID. Empty records are dropped when the next listing begins. */
  private readonly records = new Map<string, PodRecord>();
  private readonly wakeUps = new AsyncQueue<'due'>();
  private readonly listeners = new Set<() => void>();
  private periodMs = relistPeriodMs;
  private isRetryDue = false;
  private relistedAtMonotonic: number | undefined;
  lastRelistAt: number | undefined;
  lastRelistMs: number | undefined;

  constructor(private readonly deps: Deps) {}

  /** Relists until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.list(signal);
      const cancel = this.deps.clock.after(untilTick(this.deps.clock, this.periodMs), () => {
        this.wakeUps.push('due');
      });
      try {
        await this.wakeUps.pull(signal);
      } finally {
        cancel();
      }
    }
  }

  /** Relists now, and then with this period. */
  setRelistPeriod(periodMs: number): void {
    this.periodMs = periodMs;
    if (this.wakeUps.length === 0) this.wakeUps.push('due');
  }

  /** Lists all pods and sends the changes. A failed listing is logged and retried. */
  async relist(signal: AbortSignal): Promise<void> {
    const { reads } = await this.list(signal);
    await Promise.all(reads);
  }

  /** Relists one pod now, or after its running read. Waiting requests share one read. */
  relistPod(uid: string, signal: AbortSignal): Promise<void> {
    const record = this.record(uid);
    record.asked = 'everything';
    return record.lane.run(() => this.readAsked(record, signal));
  }

  /**
   * Reads a single exited container if the rest of its pod is known. The pod then counts as read, because every other
   * change has an event or, after a sync, a relist.
   */
  containerEnded(uid: string, id: string, signal: AbortSignal): Promise<void> {
    const record = this.record(uid);
    if (record.asked !== 'everything') record.asked = [...record.asked, id];
    return record.lane.run(() => this.readAsked(record, signal));
  }

  /** Pod UID of a container or sandbox. Returns undefined if it is not listed. */
  podUIDOf(id: string): string | undefined {
    const isIn = (pod: RuntimePod | undefined): boolean =>
      pod !== undefined && [...pod.containers, ...pod.sandboxes].some((listed) => listed.id === id);
    return [...this.records.values()].find(({ seen, listed }) => isIn(seen) || isIn(listed))?.uid;
  }

  /** Calls back after each full listing. Returns a function that unsubscribes. */
  onListed(callback: () => void): () => void {
    this.listeners.add(callback);
    return () => {
      this.listeners.delete(callback);
    };
  }

  /** All pods in the runtime as last read, or as listed if not read yet. */
  pods(): RuntimePod[] {
    return [...this.records.values()].flatMap(({ seen, listed }) => seen ?? listed ?? []);
  }

  /** The pod of `pods` with this UID. */
  runtimePod(uid: string): RuntimePod | undefined {
    const record = this.records.get(uid);
    return record?.seen ?? record?.listed;
  }

  /** One pod of the runtime as last read. */
  pod(uid: string): RuntimePod | undefined {
    return this.records.get(uid)?.seen;
  }

  /** Returns undefined while healthy. kubelet: pleg/generic.go Healthy */
  unhealthyBecause(): string | undefined {
    if (this.relistedAtMonotonic === undefined) return 'pleg has yet to be successful';
    const elapsedMs = this.deps.clock.monotonic() - this.relistedAtMonotonic;
    if (elapsedMs <= relistThresholdMs) return undefined;
    return `pleg was last seen active ${Math.round(elapsedMs / 1000)}s ago; threshold is ${relistThresholdMs / 1000}s`;
  }

  /** Resolves after the listing with the running reads of the changed pods. */
  private async list(signal: AbortSignal): Promise<{ reads: Promise<void>[] }> {
    const { clock, runtime, cache, logger } = this.deps;
    const startedAtMonotonic = clock.monotonic();
    this.beginListing();
    try {
      const pods = new Map((await runtime.getPods({ signal })).map((pod) => [pod.uid, pod]));
      const records = [...new Set([...pods.keys(), ...this.records.keys()])].map((uid) => this.record(uid));
      const changed = records.filter((record) => recordListed(record, pods.get(record.uid)));
      this.relistedAtMonotonic = startedAtMonotonic;
      this.lastRelistAt = clock.now();
      this.lastRelistMs = clock.monotonic() - startedAtMonotonic;
      this.deps.meter?.relisted(this.lastRelistMs);
      const changedUIDs = changed.map(({ uid }) => uid);
      cache.updateTime(startedAtMonotonic, changedUIDs);
      for (const notify of this.listeners) notify();
      return { reads: changed.map((record) => this.readListed(record, startedAtMonotonic, signal)) };
    } catch (error) {
      if (signal.aborted) return { reads: [] };
      // `RuntimeState` reports an unavailable runtime.
      logger[isUnavailable(error) ? 'debug' : 'warn']({ err: error }, 'Relist of the runtime failed');
      this.relistSoon();
      return { reads: [] };
    }
  }

  private beginListing(): void {
    for (const record of this.records.values()) {
      record.isNewerThanListing = false;
      const { uid, seen, listed, needsReading, lane } = record;
      if (seen === undefined && listed === undefined && !needsReading && !lane.isBusy) this.records.delete(uid);
    }
  }

  private record(uid: string): PodRecord {
    let record = this.records.get(uid);
    if (record === undefined) {
      const unknown = { seen: undefined, listed: undefined, needsReading: false, isNewerThanListing: false };
      record = { uid, ...unknown, asked: [], lane: new Lane() };
      this.records.set(uid, record);
    }
    return record;
  }

  private async readAsked(record: PodRecord, signal: AbortSignal): Promise<void> {
    const { asked } = record;
    record.asked = [];
    let isRead = asked !== 'everything';
    if (asked !== 'everything') for (const id of asked) isRead &&= await this.readEnded(record, id, signal);
    if (!isRead) await this.read(record, signal);
  }

  private async read(record: PodRecord, signal: AbortSignal): Promise<void> {
    const startedAtMonotonic = this.deps.clock.monotonic();
    try {
      [record.listed] = await this.deps.runtime.getPods({ signal, uid: record.uid });
      record.needsReading = true;
      await this.inspect(record, startedAtMonotonic, signal);
    } catch (error) {
      if (signal.aborted) return;
      this.deps.logger.warn({ err: error, podUID: record.uid }, 'Relist of one pod failed');
      this.relistSoon();
    }
  }

  /** Reads one exited container. Resolves with false if the whole pod must be read. */
  private async readEnded(record: PodRecord, id: string, signal: AbortSignal): Promise<boolean> {
    const { runtime, cache, clock, onEvents } = this.deps;
    const { uid, seen } = record;
    const startedAtMonotonic = clock.monotonic();
    const state = seen?.containers.find((container) => container.id === id)?.state;
    if (seen === undefined || record.needsReading) return false;
    if (state !== 'running') return state === 'exited';
    record.isNewerThanListing = true;
    const before = cache.get(uid);
    const known = before.containerStatuses.find((container) => container.id === id);
    const ended =
      known?.state === 'exited' ? known : await runtime.getContainerStatus(id, { signal }).catch(() => undefined);
    if (known === undefined || ended?.state !== 'exited') return false;
    const containerStatuses = before.containerStatuses.map((other) => (other.id === id ? ended : other));
    const status = { ...before, containerStatuses };
    const containers = seen.containers.map((other) => (other.id === id ? { ...other, state: ended.state } : other));
    const pod = { ...seen, containers };
    cache.set(uid, status, undefined, startedAtMonotonic);
    settle(record, pod);
    onEvents(visible(computePodLifecycleEvents(seen, pod)), status);
    return true;
  }

  /** Retries a failure soon, even if the period is long. */
  private relistSoon(): void {
    if (this.isRetryDue || this.periodMs <= relistPeriodMs) return;
    this.isRetryDue = true;
    this.deps.clock.after(relistPeriodMs, () => {
      this.isRetryDue = false;
      this.setRelistPeriod(this.periodMs);
    });
  }

  private readListed(record: PodRecord, startedAtMonotonic: number, signal: AbortSignal): Promise<void> {
    const { uid, lane, isNewerThanListing } = record;
    if (lane.isBusy || isNewerThanListing) return this.relistPod(uid, signal);
    return lane.run(() => this.inspect(record, startedAtMonotonic, signal));
  }

  /**
   * Updates the cache and the record of one pod and sends its events. `startedAtMonotonic` is a time before the pod was
   * listed, because later changes count as unseen. kubelet: pleg/generic.go updateCache
   */
  private async inspect(record: PodRecord, startedAtMonotonic: number, signal: AbortSignal): Promise<void> {
    const { runtime, cache, logger, onEvents } = this.deps;
    const { uid, seen, listed: pod } = record;
    const events = visible(computePodLifecycleEvents(seen, pod));
    record.isNewerThanListing = true;
    if (pod === undefined) {
      const lastStatus = cache.get(uid);
      cache.delete(uid, startedAtMonotonic);
      settle(record, undefined);
      onEvents(events, lastStatus);
      return;
    }
    try {
      const status = withKnownIPs(await runtime.getPodStatus(uid, { listed: pod, signal }), cache.get(uid));
      cache.set(uid, status, undefined, startedAtMonotonic);
      settle(record, pod);
      onEvents(events, status);
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ err: error, podUID: uid }, 'Reading the status of a pod failed');
      cache.set(uid, cache.get(uid), toError(error), startedAtMonotonic);
      record.needsReading = true;
      this.relistSoon();
    }
  }
}

/** Records the listed pod. True if it changed since it was last read, or if that read failed. */
function recordListed(record: PodRecord, pod: RuntimePod | undefined): boolean {
  const hasChanged = record.needsReading || computePodLifecycleEvents(record.seen, pod).length > 0;
  record.listed = hasChanged ? pod : undefined;
  return hasChanged;
}

function settle(record: PodRecord, pod: RuntimePod | undefined): void {
  Object.assign(record, { seen: pod, listed: undefined, needsReading: false });
}

/** Changes to created or unknown are not sent. kubelet: pleg/generic.go Relist */
function visible(events: PodLifecycleEvent[]): PodLifecycleEvent[] {
  return events.filter(({ type }) => type !== 'ContainerChanged');
}

/** A pod that lost its sandbox keeps its addresses. kubelet: pleg/generic.go getPodIPs */
function withKnownIPs(status: RuntimePodStatus, before: RuntimePodStatus): RuntimePodStatus {
  if (status.ips.length > 0 || status.sandboxStatuses.some(({ state }) => state === 'ready')) return status;
  return { ...status, ips: before.ips };
}

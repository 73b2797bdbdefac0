import type { Clock } from '../../clock.ts';
import { isUnavailable } from '../../cri/errors.ts';
import { toError } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { AsyncQueue } from '../async-queue.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../kuberuntime/runtime-pod-status.ts';
import type { PodCache } from './pod-cache.ts';
import { PodLanes } from './pod-lanes.ts';
import type { PodLifecycleEvent } from './pod-lifecycle-event.ts';
import { computePodLifecycleEvents, type RuntimePod } from './pod-records.ts';

/** One second after the end of the one before. kubelet: kubelet.go genericPlegRelistPeriod */
export const relistPeriodMs = 1000;
/** kubelet: kubelet.go genericPlegRelistThreshold */
const relistThresholdMs = 180_000;

export interface PlegRuntime {
  /** Every pod in the runtime; with `uid`, only that one. */
  getPods(options: { signal: AbortSignal; uid?: string }): Promise<RuntimePod[]>;
  /** `listed` is the pod as `getPods` gave it a moment ago. */
  getPodStatus(uid: string, options: { listed: RuntimePod; signal: AbortSignal }): Promise<RuntimePodStatus>;
  /** Undefined: there is no such container. */
  getContainerStatus(id: string, options: { signal: AbortSignal }): Promise<RuntimeContainerStatus | undefined>;
}

interface Deps {
  runtime: PlegRuntime;
  cache: PodCache;
  clock: Clock;
  logger: Logger;
  /** Takes the events of one pod, after the cache has its status. */
  onEvents: (events: PodLifecycleEvent[], status: RuntimePodStatus) => void;
}

/**
 * Pod lifecycle events from listing the runtime again and again. kubelet: pleg/generic.go
 *
 * INVARIANTS: one listing of everything at a time, one look at each pod at a time, and a pod that cannot be read holds up
 * no other; a pod's record is promoted only after its status was read, so that no change is lost; the cache is written
 * before events go out; what a listing says of a pod that was looked at since is not believed.
 */
export class GenericPleg {
  private readonly deps: Deps;
  private readonly records = new Map<string, RuntimePod>();
  /** Pods of the newest listing that have no record yet: nobody has looked at them. */
  private readonly unrecorded = new Map<string, RuntimePod>();
  /** Pods whose status could not be read and that are looked at again. */
  private readonly toReinspect = new Set<string>();
  private readonly lanes = new PodLanes();
  /** Pods that somebody asked to look at since the look under way began. */
  private readonly toLookAt = new Set<string>();
  /** By pod UID the containers that ended since then. */
  private readonly toRead = new Map<string, string[]>();
  /** Pods whose look is under way, as it listed them. */
  private readonly listed = new Map<string, RuntimePod>();
  /** When the newest look at a pod began, of those since the listing that is under way. */
  private readonly lookedAt = new Map<string, number>();
  private readonly wakeUps = new AsyncQueue<'due'>();
  private readonly listeners = new Set<() => void>();
  private periodMs = relistPeriodMs;
  private isRetryDue = false;
  private lastRelistStart: number | undefined;
  lastRelistAt: number | undefined;
  lastRelistMs: number | undefined;

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** Relists until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.list(signal);
      const cancel = this.deps.clock.after(this.periodMs, () => {
        this.wakeUps.push('due');
      });
      try {
        await this.wakeUps.pull(signal);
      } finally {
        cancel();
      }
    }
  }

  /** Relists now, and from then on with this many milliseconds in between. */
  setRelistPeriod(periodMs: number): void {
    this.periodMs = periodMs;
    if (this.wakeUps.length === 0) this.wakeUps.push('due');
  }

  /** Lists everything and sends what changed. A failed listing is logged and tried again at the next turn. */
  async relist(signal: AbortSignal): Promise<void> {
    const { looks } = await this.list(signal);
    await Promise.all(looks);
  }

  /** Looks at one pod now, or after the look at it that is under way. Requests that come while one waits are one. */
  relistPod(uid: string, signal: AbortSignal): Promise<void> {
    this.toLookAt.add(uid);
    return this.lanes.run(uid, () => this.lookOrRead(uid, signal));
  }

  /**
   * A container ended, and `getContainerStatus` says so: it alone is read, where all else of its pod is known. That counts as
   * news of the pod: of whatever else changed somebody tells too, and a sync of ours that may have changed something is
   * followed by a look.
   */
  containerEnded(uid: string, id: string, signal: AbortSignal): Promise<void> {
    this.toRead.set(uid, [...(this.toRead.get(uid) ?? []), id]);
    return this.lanes.run(uid, () => this.lookOrRead(uid, signal));
  }

  /** UID of the pod of a container or sandbox that was listed; undefined: it was not. */
  podUIDOf(id: string): string | undefined {
    const isOf = ({ containers, sandboxes }: RuntimePod): boolean =>
      containers.some((listed) => listed.id === id) || sandboxes.some((listed) => listed.id === id);
    return this.pods().find(isOf)?.uid ?? [...this.listed.values()].find(isOf)?.uid;
  }

  /** Calls back after each listing of everything; returns how to end that. */
  onListed(callback: () => void): () => void {
    this.listeners.add(callback);
    return () => {
      this.listeners.delete(callback);
    };
  }

  /** Every pod in the runtime, as it was when it was last looked at, or listed if that was never. */
  pods(): RuntimePod[] {
    return [...this.records.values(), ...this.unrecorded.values()];
  }

  /** One pod of the runtime, as it was when it was last looked at. */
  pod(uid: string): RuntimePod | undefined {
    return this.records.get(uid);
  }

  /** Undefined while healthy. kubelet: pleg/generic.go Healthy */
  unhealthyBecause(): string | undefined {
    if (this.lastRelistStart === undefined) return 'pleg has yet to be successful';
    const elapsedMs = this.deps.clock.monotonic() - this.lastRelistStart;
    if (elapsedMs <= relistThresholdMs) return undefined;
    return `pleg was last seen active ${Math.round(elapsedMs / 1000)}s ago; threshold is ${relistThresholdMs / 1000}s`;
  }

  /** Resolves when everything is listed, with the looks at the pods that changed. */
  private async list(signal: AbortSignal): Promise<{ looks: Promise<void>[] }> {
    const { clock, runtime, cache, logger } = this.deps;
    const startedAt = clock.monotonic();
    this.lookedAt.clear();
    try {
      const pods = new Map((await runtime.getPods({ signal })).map((pod) => [pod.uid, pod]));
      const uids = new Set([...pods.keys(), ...this.records.keys(), ...this.toReinspect]);
      this.unrecorded.clear();
      for (const [uid, pod] of pods) if (!this.records.has(uid)) this.unrecorded.set(uid, pod);
      const changed = [...uids].filter((uid) => this.isNews(uid, pods.get(uid)));
      this.lastRelistStart = startedAt;
      this.lastRelistAt = clock.now();
      this.lastRelistMs = clock.monotonic() - startedAt;
      cache.updateTime(startedAt, changed);
      for (const tell of this.listeners) tell();
      return { looks: changed.map((uid) => this.lookAtListed(uid, pods.get(uid), startedAt, signal)) };
    } catch (error) {
      if (signal.aborted) return { looks: [] };
      // A runtime that is away is told of by the state of the runtime.
      logger[isUnavailable(error) ? 'debug' : 'warn']({ err: error }, 'Relist of the runtime failed');
      this.relistSoon();
      return { looks: [] };
    }
  }

  /** All that was asked for of this pod. */
  private async lookOrRead(uid: string, signal: AbortSignal): Promise<void> {
    const ended = this.toRead.get(uid) ?? [];
    this.toRead.delete(uid);
    let isWhole = this.toLookAt.delete(uid);
    for (const id of ended) isWhole ||= !(await this.readEnded(uid, id, signal));
    if (isWhole) await this.look(uid, signal);
  }

  private async look(uid: string, signal: AbortSignal): Promise<void> {
    const startedAt = this.deps.clock.monotonic();
    try {
      const [pod] = await this.deps.runtime.getPods({ signal, uid });
      if (pod !== undefined) this.listed.set(uid, pod);
      this.toReinspect.add(uid);
      await this.inspect(uid, pod, startedAt, signal);
    } catch (error) {
      if (signal.aborted) return;
      this.deps.logger.warn({ err: error, podUID: uid }, 'Relist of one pod failed');
      this.relistSoon();
    } finally {
      this.listed.delete(uid);
    }
  }

  /** False: more of the pod has to be read than this container. */
  private async readEnded(uid: string, id: string, signal: AbortSignal): Promise<boolean> {
    const { runtime, cache, clock, onEvents } = this.deps;
    const startedAt = clock.monotonic();
    const record = this.records.get(uid);
    const state = record?.containers.find((container) => container.id === id)?.state;
    if (record === undefined || this.toReinspect.has(uid)) return false;
    if (state !== 'running') return state === 'exited';
    this.lookedAt.set(uid, startedAt);
    const before = cache.get(uid);
    const known = before.containerStatuses.find((container) => container.id === id);
    const ended =
      known?.state === 'exited' ? known : await runtime.getContainerStatus(id, { signal }).catch(() => undefined);
    if (known === undefined || ended?.state !== 'exited') return false;
    const containerStatuses = before.containerStatuses.map((other) => (other.id === id ? ended : other));
    const status = { ...before, containerStatuses };
    const containers = record.containers.map((other) => (other.id === id ? { ...other, state: ended.state } : other));
    const pod = { ...record, containers };
    cache.set(uid, status, undefined, startedAt);
    this.settle(uid, pod);
    onEvents(visible(computePodLifecycleEvents(record, pod)), status);
    return true;
  }

  /** What failed is not left to a long period. */
  private relistSoon(): void {
    if (this.isRetryDue || this.periodMs <= relistPeriodMs) return;
    this.isRetryDue = true;
    this.deps.clock.after(relistPeriodMs, () => {
      this.isRetryDue = false;
      this.setRelistPeriod(this.periodMs);
    });
  }

  private isNews(uid: string, pod: RuntimePod | undefined): boolean {
    return this.toReinspect.has(uid) || computePodLifecycleEvents(this.records.get(uid), pod).length > 0;
  }

  private lookAtListed(
    uid: string,
    pod: RuntimePod | undefined,
    startedAt: number,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.lanes.isBusy(uid) || this.lookedAt.has(uid)) return this.relistPod(uid, signal);
    return this.lanes.run(uid, () => this.inspect(uid, pod, startedAt, signal));
  }

  /** Brings cache and record of one pod up to date and sends its events. kubelet: pleg/generic.go updateCache */
  private async inspect(
    uid: string,
    pod: RuntimePod | undefined,
    startedAt: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { runtime, cache, logger, onEvents } = this.deps;
    const events = computePodLifecycleEvents(this.records.get(uid), pod);
    this.lookedAt.set(uid, startedAt);
    if (pod === undefined) {
      const lastStatus = cache.get(uid);
      cache.delete(uid, startedAt);
      this.settle(uid, undefined);
      onEvents(visible(events), lastStatus);
      return;
    }
    // The time before the pod was listed: what changed since then must count as unseen.
    const readAt = startedAt;
    try {
      const status = withKnownIPs(await runtime.getPodStatus(uid, { listed: pod, signal }), cache.get(uid));
      cache.set(uid, status, undefined, readAt);
      this.settle(uid, pod);
      onEvents(visible(events), status);
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ err: error, podUID: uid }, 'Reading the status of a pod failed');
      cache.set(uid, cache.get(uid), toError(error), readAt);
      this.toReinspect.add(uid);
      this.relistSoon();
    }
  }

  private settle(uid: string, pod: RuntimePod | undefined): void {
    this.toReinspect.delete(uid);
    this.unrecorded.delete(uid);
    if (pod === undefined) this.records.delete(uid);
    else this.records.set(uid, pod);
  }
}

/** Changes to created or unknown are not sent. kubelet: pleg/generic.go Relist */
function visible(events: PodLifecycleEvent[]): PodLifecycleEvent[] {
  return events.filter(({ type }) => type !== 'ContainerChanged');
}

/** A pod that lost its sandbox keeps the addresses it had. kubelet: pleg/generic.go getPodIPs */
function withKnownIPs(status: RuntimePodStatus, before: RuntimePodStatus): RuntimePodStatus {
  if (status.ips.length > 0 || status.sandboxStatuses.some(({ state }) => state === 'ready')) return status;
  return { ...status, ips: before.ips };
}

import type { Pod } from '../../../api/types.ts';
import { SerialQueue } from '../../../flow/serial-queue.ts';
import type { AllocationResult } from '../topology-manager/allocation-error.ts';

/** Result of the allocation for a pod. */
export interface PluginAllocation {
  result: AllocationResult;
  /** UIDs of pods that may have been rejected because this pod held CPUs and memory during the allocation. */
  refusedMeanwhile: readonly string[];
}

interface Deps {
  /** Allocates for all containers of a pod. Never rejects. */
  allocate: (pod: Pod) => Promise<PluginAllocation>;
  /** True if devices are chosen together with CPUs and memory. Only one pod at a time may do this. */
  isAligning: () => boolean;
  /** UIDs of pods that have devices of a resource that this pod requests. */
  holdersFor: (pod: Pod) => string[];
  /** Frees the devices of a rejected pod. */
  release: (uid: string) => void;
  /** Called when an allocation finishes. */
  onAllocated: () => void;
  /** Called when devices, CPUs or memory that these pods may have lacked are free. */
  onFreed: (podUIDs: readonly string[]) => void;
}

/** One request to the plugins for one pod. */
interface PluginRequest {
  /** Undefined while the plugins have not answered. */
  result: AllocationResult | undefined;
}

/**
 * Lets plugins allocate devices for pods while the sync loop continues; the kubelet's loop waits for them. Pods whose
 * devices are aligned are served one after the other.
 *
 * INVARIANTS: a result is used once, by the pod that requested it. If a pod is added again, its new request starts
 * after the earlier one finished, so a late answer never changes the devices of a running container. A rejected pod is
 * retried at once only if a pod with a pending request held the devices, and that pod was rejected or removed too. So
 * two pods never retry each other forever.
 */
export class DeviceAdmission {
  /** By UID of the pod. */
  private readonly requests = new Map<string, PluginRequest>();
  /** UIDs of pods whose plugins are being called, even if the pods were removed since. */
  private readonly inFlight = new Set<string>();
  /** By UID of a rejected pod: UIDs of pods with pending requests that held devices at that time. */
  private readonly rivals = new Map<string, Set<string>>();
  /** Serves aligned pods. */
  private readonly alignedQueue = new SerialQueue();
  /** Serves each other pod, by UID. */
  private readonly podQueues = new Map<string, SerialQueue>();

  constructor(private readonly deps: Deps) {}

  /** UIDs of pods that may already have devices. A rejected pod keeps them only until another pod requests devices. */
  get podUIDs(): string[] {
    return [...this.requests.keys()].filter((uid) => this.isAwaited(uid));
  }

  /** True if the pod's request is pending, or if it was admitted and has not used the result yet. */
  isAwaited(uid: string): boolean {
    const request = this.requests.get(uid);
    return request !== undefined && request.result?.admit !== false;
  }

  /** Returns the result if the plugins have answered. Otherwise calls them and returns undefined. */
  admit(pod: Pod): AllocationResult | undefined {
    const { uid } = pod.metadata;
    const ask = this.requests.get(uid);
    if (ask === undefined) void this.ask(pod);
    else if (ask.result !== undefined) this.requests.delete(uid);
    return ask?.result;
  }

  /** Drops the request of a removed or stopped pod. */
  remove(uid: string): void {
    this.requests.delete(uid);
    this.rivals.delete(uid);
  }

  private async ask(pod: Pod): Promise<void> {
    const { uid } = pod.metadata;
    const ask: PluginRequest = { result: undefined };
    this.requests.set(uid, ask);
    this.rivals.delete(uid);
    const queue = this.deps.isAligning() ? this.alignedQueue : (this.podQueues.get(uid) ?? new SerialQueue());
    if (queue !== this.alignedQueue) this.podQueues.set(uid, queue);
    await queue.run(() => this.allocate(pod, ask));
    if (queue.isIdle) this.podQueues.delete(uid);
  }

  private async allocate(pod: Pod, ask: PluginRequest): Promise<void> {
    const { uid } = pod.metadata;
    const isStale = (): boolean => this.requests.get(uid) !== ask;
    // The pod may have been removed while it was queued.
    if (isStale()) return;
    this.inFlight.add(uid);
    const { result, refusedMeanwhile } = await this.deps.allocate(pod);
    this.inFlight.delete(uid);
    if (isStale()) {
      this.reportFreed([...refusedMeanwhile, ...this.removeRefusedFor(uid)]);
      return;
    }
    ask.result = result;
    if (!result.admit) {
      this.reportFreed(refusedMeanwhile);
      this.yieldToRivals(pod);
    }
    this.deps.onAllocated();
  }

  /** Also true for a queued pod. */
  private isAllocating(uid: string): boolean {
    const ask = this.requests.get(uid);
    return this.inFlight.has(uid) || (ask !== undefined && ask.result === undefined);
  }

  private yieldToRivals(pod: Pod): void {
    const { uid } = pod.metadata;
    const { holdersFor, release } = this.deps;
    const rivals = new Set(holdersFor(pod).filter((other) => this.isAllocating(other)));
    const freed = this.removeRefusedFor(uid);
    this.rivals.set(uid, rivals);
    if (freed.length > 0) release(uid);
    this.reportFreed(freed);
  }

  private reportFreed(podUIDs: readonly string[]): void {
    if (podUIDs.length > 0) this.deps.onFreed(podUIDs);
  }

  /** Removes and returns the pods that were rejected while this pod's request was pending. They may be retried. */
  private removeRefusedFor(uid: string): string[] {
    const refused = [...this.rivals].filter(([, others]) => others.has(uid)).map(([other]) => other);
    for (const other of refused) this.remove(other);
    return refused;
  }
}

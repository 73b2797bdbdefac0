import type { Pod } from '../../../api/types.ts';
import { OneAtATime } from '../../../flow/one-at-a-time.ts';
import type { AllocationResult } from '../topology-manager/allocation-error.ts';

/** What became of the allocation for a pod. */
export interface PluginAllocation {
  result: AllocationResult;
  /** UIDs of pods that may have been refused for the CPUs and memory that this pod had meanwhile. */
  refusedMeanwhile: readonly string[];
}

interface Deps {
  /** Allocates for all containers of a pod. Never rejects. */
  allocate: (pod: Pod) => Promise<PluginAllocation>;
  /** True if devices are chosen together with CPUs and memory, which no two pods may do at a time. */
  isAligning: () => boolean;
  /** UIDs of pods that have devices of a resource for which this pod asks. */
  holdersFor: (pod: Pod) => string[];
  /** Frees the devices of a pod that was refused. */
  release: (uid: string) => void;
  /** An allocation has ended. */
  onDone: () => void;
  /** Devices, CPUs or memory that these pods may have lacked were freed. */
  onFreed: (podUIDs: readonly string[]) => void;
}

/**
 * Has plugins allocate for pods while the sync loop goes on. The kubelet's loop waits for them. Pods whose devices are
 * aligned take turns.
 *
 * INVARIANTS: a result is used once, by the pod that asked. A pod that is refused is asked for again at once only if a
 * pod that was being asked for had the devices then, and is refused as well. So two pods never take turns without end.
 */
export class DeviceAdmission {
  /** By UID of the pod. Undefined: plugins are being asked. */
  private readonly results = new Map<string, AllocationResult | undefined>();
  /** UIDs of pods that were being asked for and had devices as a pod was refused, by its UID. */
  private readonly rivals = new Map<string, Set<string>>();
  private readonly turns = new OneAtATime();

  constructor(private readonly deps: Deps) {}

  /** UIDs of pods that may have devices already. A refused pod keeps them only until another one asks. */
  get podUIDs(): string[] {
    return [...this.results.keys()].filter((uid) => this.isAwaited(uid));
  }

  /** True if the pod is being asked for, or was admitted and has not used the result. */
  isAwaited(uid: string): boolean {
    return this.results.has(uid) && this.results.get(uid)?.admit !== false;
  }

  /** The result if the plugins have answered. Otherwise asks them, and returns undefined. */
  admit(pod: Pod): AllocationResult | undefined {
    const { uid } = pod.metadata;
    const result = this.results.get(uid);
    if (result !== undefined) this.results.delete(uid);
    else if (!this.results.has(uid)) void this.ask(pod);
    return result;
  }

  /** The pod was removed. */
  forget(uid: string): void {
    this.results.delete(uid);
    this.rivals.delete(uid);
  }

  private ask(pod: Pod): Promise<void> {
    const { uid } = pod.metadata;
    this.results.set(uid, undefined);
    this.rivals.delete(uid);
    return this.deps.isAligning() ? this.turns.run(() => this.allocate(pod)) : this.allocate(pod);
  }

  private async allocate(pod: Pod): Promise<void> {
    const { uid } = pod.metadata;
    // It may have been removed while it waited for its turn.
    if (!this.isBeingAsked(uid)) return;
    const { result, refusedMeanwhile } = await this.deps.allocate(pod);
    const isRemoved = !this.results.has(uid);
    if ((isRemoved || !result.admit) && refusedMeanwhile.length > 0) this.deps.onFreed(refusedMeanwhile);
    if (isRemoved) return;
    this.results.set(uid, result);
    if (!result.admit) this.giveWay(pod);
    this.deps.onDone();
  }

  private isBeingAsked(uid: string): boolean {
    return this.results.has(uid) && this.results.get(uid) === undefined;
  }

  private giveWay(pod: Pod): void {
    const { uid } = pod.metadata;
    const { holdersFor, release, onFreed } = this.deps;
    const rivals = new Set(holdersFor(pod).filter((other) => this.isBeingAsked(other)));
    const freed = [...this.rivals].filter(([, others]) => others.has(uid)).map(([other]) => other);
    for (const other of freed) this.forget(other);
    this.rivals.set(uid, rivals);
    if (freed.length === 0) return;
    release(uid);
    onFreed(freed);
  }
}

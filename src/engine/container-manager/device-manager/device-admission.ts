import type { Pod } from '../../../api/types.ts';
import type { AllocationResult } from '../topology-manager/allocation-error.ts';

interface Deps {
  /** Allocates for all containers of a pod. Never rejects. */
  allocate: (pod: Pod) => Promise<AllocationResult>;
  /** UIDs of pods that have devices of a resource for which this pod asks. */
  holdersFor: (pod: Pod) => string[];
  /** Frees the devices of a pod that was refused. */
  release: (uid: string) => void;
  /** An allocation has ended. */
  onDone: () => void;
  /** Devices that these pods may have lacked were freed. */
  onFreed: (podUIDs: readonly string[]) => void;
}

/**
 * Has plugins allocate for pods while the sync loop goes on. The kubelet's loop waits for them.
 *
 * INVARIANTS: a result is used once, by the pod that asked. A pod that is refused is asked for again at once only if a
 * pod that was being asked for had the devices then, and is refused as well. So two pods never take turns without end.
 */
export class DeviceAdmission {
  /** By UID of the pod. Undefined: plugins are being asked. */
  private readonly results = new Map<string, AllocationResult | undefined>();
  /** UIDs of pods that were being asked for and had devices as a pod was refused, by its UID. */
  private readonly rivals = new Map<string, Set<string>>();

  constructor(private readonly deps: Deps) {}

  /** UIDs of pods that may have devices already. A refused pod keeps them only until another one asks. */
  get podUIDs(): string[] {
    return [...this.results].filter(([, result]) => result?.admit !== false).map(([uid]) => uid);
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

  private async ask(pod: Pod): Promise<void> {
    const { uid } = pod.metadata;
    this.results.set(uid, undefined);
    this.rivals.delete(uid);
    const result = await this.deps.allocate(pod);
    // It may have been removed meanwhile.
    if (!this.results.has(uid)) return;
    this.results.set(uid, result);
    if (!result.admit) this.giveWay(pod);
    this.deps.onDone();
  }

  private giveWay(pod: Pod): void {
    const { uid } = pod.metadata;
    const { holdersFor, release, onFreed } = this.deps;
    const isBeingAsked = (other: string): boolean => this.results.has(other) && this.results.get(other) === undefined;
    const rivals = new Set(holdersFor(pod).filter(isBeingAsked));
    const freed = [...this.rivals].filter(([, others]) => others.has(uid)).map(([other]) => other);
    for (const other of freed) this.forget(other);
    this.rivals.set(uid, rivals);
    if (freed.length === 0) return;
    release(uid);
    onFreed(freed);
  }
}

import type { Pod } from '../../../api/types.ts';
import type { AllocationResult } from '../topology-manager/allocation-error.ts';

interface Deps {
  /** Allocates for all containers of a pod. Never rejects. */
  allocate: (pod: Pod) => Promise<AllocationResult>;
  /** An allocation has ended. */
  onDone: () => void;
}

/**
 * Has plugins allocate for pods while the sync loop goes on. The kubelet's loop waits for them.
 *
 * INVARIANT: a result is used once, by the pod that asked.
 */
export class DeviceAdmission {
  private readonly deps: Deps;
  /** By UID of the pod. Undefined: plugins are being asked. */
  private readonly results = new Map<string, AllocationResult | undefined>();

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** UIDs of pods that may have devices already. */
  get podUIDs(): string[] {
    return [...this.results.keys()];
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
  }

  private async ask(pod: Pod): Promise<void> {
    const { uid } = pod.metadata;
    this.results.set(uid, undefined);
    const result = await this.deps.allocate(pod);
    // It may have been removed meanwhile.
    if (!this.results.has(uid)) return;
    this.results.set(uid, result);
    this.deps.onDone();
  }
}

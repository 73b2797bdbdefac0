import type { Pod } from '../../../api/types.ts';
import { SerialQueue } from '../../../flow/serial-queue.ts';
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

/** One request to the plugins, for one pod. */
interface Ask {
  /** Undefined: plugins are being asked. */
  result: AllocationResult | undefined;
}

/**
 * Has plugins allocate for pods while the sync loop goes on. The kubelet's loop waits for them. Pods whose devices are
 * aligned take turns.
 *
 * INVARIANTS: a result is used once, by the pod that asked. A pod that comes back is asked for anew, after the earlier
 * ask has ended. So a late answer changes no devices of a container that runs. A pod that is refused is asked for again
 * at once only if a pod that was being asked for had the devices then, and is refused or gone as well. So two pods
 * never take turns without end.
 */
export class DeviceAdmission {
  /** By UID of the pod. */
  private readonly asks = new Map<string, Ask>();
  /** UIDs of pods that are being asked for, also if they were removed meanwhile. */
  private readonly asking = new Set<string>();
  /** UIDs of pods that were being asked for and had devices as a pod was refused, by its UID. */
  private readonly rivals = new Map<string, Set<string>>();
  /** Of aligned pods. */
  private readonly alignedTurns = new SerialQueue();
  /** Of each other pod, by its UID. */
  private readonly podTurns = new Map<string, SerialQueue>();

  constructor(private readonly deps: Deps) {}

  /** UIDs of pods that may have devices already. A refused pod keeps them only until another one asks. */
  get podUIDs(): string[] {
    return [...this.asks.keys()].filter((uid) => this.isAwaited(uid));
  }

  /** True if the pod is being asked for, or was admitted and has not used the result. */
  isAwaited(uid: string): boolean {
    const ask = this.asks.get(uid);
    return ask !== undefined && ask.result?.admit !== false;
  }

  /** The result if the plugins have answered. Otherwise asks them, and returns undefined. */
  admit(pod: Pod): AllocationResult | undefined {
    const { uid } = pod.metadata;
    const ask = this.asks.get(uid);
    if (ask === undefined) void this.ask(pod);
    else if (ask.result !== undefined) this.asks.delete(uid);
    return ask?.result;
  }

  /** The pod was removed or stopped. */
  forget(uid: string): void {
    this.asks.delete(uid);
    this.rivals.delete(uid);
  }

  private async ask(pod: Pod): Promise<void> {
    const { uid } = pod.metadata;
    const ask: Ask = { result: undefined };
    this.asks.set(uid, ask);
    this.rivals.delete(uid);
    const turns = this.deps.isAligning() ? this.alignedTurns : (this.podTurns.get(uid) ?? new SerialQueue());
    if (turns !== this.alignedTurns) this.podTurns.set(uid, turns);
    await turns.run(() => this.allocate(pod, ask));
    if (turns.isIdle) this.podTurns.delete(uid);
  }

  private async allocate(pod: Pod, ask: Ask): Promise<void> {
    const { uid } = pod.metadata;
    const isForgotten = (): boolean => this.asks.get(uid) !== ask;
    // It may have been removed while it waited for its turn.
    if (isForgotten()) return;
    this.asking.add(uid);
    const { result, refusedMeanwhile } = await this.deps.allocate(pod);
    this.asking.delete(uid);
    if (isForgotten()) {
      this.reportFreed([...refusedMeanwhile, ...this.takeRefusedFor(uid)]);
      return;
    }
    ask.result = result;
    if (!result.admit) {
      this.reportFreed(refusedMeanwhile);
      this.giveWay(pod);
    }
    this.deps.onDone();
  }

  /** Also true for a pod that waits for its turn. */
  private isBeingAsked(uid: string): boolean {
    const ask = this.asks.get(uid);
    return this.asking.has(uid) || (ask !== undefined && ask.result === undefined);
  }

  private giveWay(pod: Pod): void {
    const { uid } = pod.metadata;
    const { holdersFor, release } = this.deps;
    const rivals = new Set(holdersFor(pod).filter((other) => this.isBeingAsked(other)));
    const freed = this.takeRefusedFor(uid);
    this.rivals.set(uid, rivals);
    if (freed.length > 0) release(uid);
    this.reportFreed(freed);
  }

  private reportFreed(podUIDs: readonly string[]): void {
    if (podUIDs.length > 0) this.deps.onFreed(podUIDs);
  }

  /** Pods that were refused while this one was being asked for. They may be asked for again. */
  private takeRefusedFor(uid: string): string[] {
    const refused = [...this.rivals].filter(([, others]) => others.has(uid)).map(([other]) => other);
    for (const other of refused) this.forget(other);
    return refused;
  }
}

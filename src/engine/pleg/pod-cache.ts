import { unlessAborted } from '../../flow/unless-aborted.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';

interface Entry {
  status: RuntimePodStatus;
  /** Error of a failed read. `status` is then the last one read. */
  error: Error | undefined;
  /** A time before the status was read. */
  readAtMonotonic: number;
}

interface Waiter {
  uid: string;
  newerThanMonotonic: number;
  resolve: (status: RuntimePodStatus) => void;
  reject: (error: Error) => void;
}

/**
 * The newest status of every pod in the runtime. Only the PLEG writes it. kubelet: container/cache.go
 *
 * INVARIANTS: `Entry.readAtMonotonic` and the global time only grow. A reader that requests a status newer than `t`
 * gets one that was read after `t`, or waits.
 */
export class PodCache {
  private readonly entries = new Map<string, Entry>();
  private waiters: Waiter[] = [];
  /** At this time, every pod without an entry was missing in the runtime. */
  private globalAtMonotonic = -Infinity;
  /** Pods with an unread change. The global time does not apply to them. */
  private unread = new Set<string>();

  /** The newest status of any age. Empty if the runtime does not have the pod. */
  get(uid: string): RuntimePodStatus {
    return this.entries.get(uid)?.status ?? emptyStatus(uid);
  }

  /** True if `getNewerThan` would resolve at once. */
  hasNewerThan(uid: string, newerThanMonotonic: number): boolean {
    const global = this.unread.has(uid) ? -Infinity : this.globalAtMonotonic;
    return Math.max(this.entries.get(uid)?.readAtMonotonic ?? -Infinity, global) > newerThanMonotonic;
  }

  /**
   * Resolves with a status read after `newerThanMonotonic` (monotonic milliseconds). Rejects with the error if reading
   * failed.
   */
  async getNewerThan(uid: string, newerThanMonotonic: number, signal: AbortSignal): Promise<RuntimePodStatus> {
    let waiter: Waiter | undefined;
    const answered = new Promise<RuntimePodStatus>((resolve, reject) => {
      waiter = { uid, newerThanMonotonic, resolve, reject };
      if (!this.answer(waiter)) this.waiters.push(waiter);
    });
    try {
      return await unlessAborted(answered, signal);
    } catch (error) {
      this.waiters = this.waiters.filter((other) => other !== waiter);
      throw error;
    }
  }

  set(uid: string, status: RuntimePodStatus, error: Error | undefined, readAtMonotonic: number): void {
    this.entries.set(uid, { status, error, readAtMonotonic });
    this.read(uid, readAtMonotonic);
    this.wake();
  }

  /** Records that the runtime did not have the pod at this time. */
  delete(uid: string, atMonotonic: number): void {
    this.entries.delete(uid);
    this.read(uid, atMonotonic);
    this.waiters = this.waiters.filter((waiter) => {
      if (waiter.uid !== uid || atMonotonic <= waiter.newerThanMonotonic) return true;
      waiter.resolve(emptyStatus(uid));
      return false;
    });
  }

  /** Records a full listing. `changed` contains pods whose change is still being read. */
  updateTime(atMonotonic: number, changed: Iterable<string> = []): void {
    this.globalAtMonotonic = atMonotonic;
    this.unread = new Set(changed);
    this.wake();
  }

  /** Keeps the pod unread if the read started before the listing, because it may have missed the change. */
  private read(uid: string, atMonotonic: number): void {
    if (atMonotonic >= this.globalAtMonotonic) this.unread.delete(uid);
  }

  private wake(): void {
    this.waiters = this.waiters.filter((waiter) => !this.answer(waiter));
  }

  private answer({ uid, newerThanMonotonic, resolve, reject }: Waiter): boolean {
    if (!this.hasNewerThan(uid, newerThanMonotonic)) return false;
    const entry = this.entries.get(uid);
    if (entry?.error !== undefined) reject(entry.error);
    else resolve(entry?.status ?? emptyStatus(uid));
    return true;
  }
}

function emptyStatus(uid: string): RuntimePodStatus {
  return { uid, name: '', namespace: '', ips: [], containerStatuses: [], sandboxStatuses: [] };
}

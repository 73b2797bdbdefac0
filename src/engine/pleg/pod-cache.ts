import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';

interface Entry {
  status: RuntimePodStatus;
  /** Why the status could not be read; `status` is the last one that could. */
  error: Error | undefined;
  /** Before the status was read. */
  readAtMonotonic: number;
}

interface Waiter {
  uid: string;
  newerThanMonotonic: number;
  resolve: (status: RuntimePodStatus) => void;
  reject: (error: Error) => void;
}

/**
 * The newest status of every pod in the runtime, written by the PLEG alone. kubelet: container/cache.go
 *
 * INVARIANTS: `Entry.readAtMonotonic` and the global time only grow. A reader that asks for news since `t` gets a status that
 * was read from the runtime after `t`, or waits.
 */
export class PodCache {
  private readonly entries = new Map<string, Entry>();
  private waiters: Waiter[] = [];
  /** Every pod without an entry of its own was known to be absent at this time. */
  private globalAtMonotonic = -Infinity;
  /** Pods whose last change was not read yet: the global time does not hold for them. */
  private unread = new Set<string>();

  /** The newest status, however old; an empty one for a pod that the runtime does not have. */
  get(uid: string): RuntimePodStatus {
    return this.entries.get(uid)?.status ?? emptyStatus(uid);
  }

  /** True when `getNewerThan` would not have to wait. */
  hasNewerThan(uid: string, newerThanMonotonic: number): boolean {
    const global = this.unread.has(uid) ? -Infinity : this.globalAtMonotonic;
    return Math.max(this.entries.get(uid)?.readAtMonotonic ?? -Infinity, global) > newerThanMonotonic;
  }

  /** The status as of a moment after `newerThanMonotonic` (monotonic milliseconds). Rejects with the error of reading it. */
  getNewerThan(uid: string, newerThanMonotonic: number, signal: AbortSignal): Promise<RuntimePodStatus> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const waiter: Waiter = { uid, newerThanMonotonic, resolve, reject };
      if (this.answer(waiter)) return;
      const abort = (): void => {
        this.waiters = this.waiters.filter((other) => other !== waiter);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', abort, { once: true });
      waiter.resolve = (status) => {
        signal.removeEventListener('abort', abort);
        resolve(status);
      };
      waiter.reject = (error) => {
        signal.removeEventListener('abort', abort);
        reject(error);
      };
      this.waiters.push(waiter);
    });
  }

  set(uid: string, status: RuntimePodStatus, error: Error | undefined, readAtMonotonic: number): void {
    this.entries.set(uid, { status, error, readAtMonotonic });
    this.read(uid, readAtMonotonic);
    this.wake();
  }

  /** The runtime did not have the pod at this time. */
  delete(uid: string, atMonotonic: number): void {
    this.entries.delete(uid);
    this.read(uid, atMonotonic);
    this.waiters = this.waiters.filter((waiter) => {
      if (waiter.uid !== uid || atMonotonic <= waiter.newerThanMonotonic) return true;
      waiter.resolve(emptyStatus(uid));
      return false;
    });
  }

  /** Everything was looked at, at this time; `changed` are the pods whose change is still being read. */
  updateTime(atMonotonic: number, changed: Iterable<string> = []): void {
    this.globalAtMonotonic = atMonotonic;
    this.unread = new Set(changed);
    this.wake();
  }

  /** A look that began before the listing that found the change may not have seen it. */
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

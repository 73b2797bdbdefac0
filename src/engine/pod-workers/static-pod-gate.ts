import type { PodSyncStatus } from './pod-sync-status.ts';

type Lookup = (uid: string) => PodSyncStatus | undefined;

/**
 * Lets one static pod of a full name start at a time; the others wait in the order in which they came.
 * kubelet: pod_workers.go allowStaticPodStart
 */
export class StaticPodGate {
  private readonly startedByName = new Map<string, string>();
  private readonly waitingByName = new Map<string, string[]>();

  wait({ fullName, uid }: PodSyncStatus): void {
    this.line(fullName, [...(this.waitingByName.get(fullName) ?? []), uid]);
  }

  /** True: the pod may start, and from now on holds the name. */
  enter({ fullName, uid }: PodSyncStatus, lookup: Lookup): boolean {
    const holder = this.startedByName.get(fullName);
    if (holder !== undefined) return holder === uid;
    if (this.next(fullName, lookup, uid) !== uid) return false;
    this.line(fullName, (this.waitingByName.get(fullName) ?? []).slice(1));
    this.startedByName.set(fullName, uid);
    return true;
  }

  /** Who may start next, if the name is free; pods that went away or terminate are taken out of the line, except `uid`. */
  next(fullName: string, lookup: Lookup, uid?: string): string | undefined {
    if (this.startedByName.has(fullName)) return undefined;
    const waiting = (this.waitingByName.get(fullName) ?? []).filter((other) => {
      const record = lookup(other);
      return other === uid || (record !== undefined && !record.terminating && !record.terminated);
    });
    this.line(fullName, waiting);
    return waiting[0];
  }

  /** Frees the name when this pod holds it. */
  release({ fullName, uid }: PodSyncStatus): void {
    if (this.startedByName.get(fullName) === uid) this.startedByName.delete(fullName);
  }

  private line(fullName: string, waiting: string[]): void {
    if (waiting.length === 0) this.waitingByName.delete(fullName);
    else this.waitingByName.set(fullName, waiting);
  }
}

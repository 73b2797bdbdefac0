import type { Pod } from '../../api/types.ts';
import { podFullName } from '../../api/values/pod-names.ts';
import type { PodEntry } from './pod-entry.ts';

/** The pods that are declared now, as the sync loop last heard of them. kubelet: pod/pod_manager.go */
export class PodManager {
  private readonly byUID = new Map<string, PodEntry>();
  /** Revisions of a pod have the same full name. */
  private readonly byFullName = new Map<string, Set<PodEntry>>();

  /** Adds the pod, or replaces its manifest. */
  setPod(pod: Pod): PodEntry {
    const { uid } = pod.metadata;
    const fullName = podFullName(pod.metadata);
    const entry = this.byUID.get(uid) ?? { pod };
    // A declared UID may get another name.
    if (podFullName(entry.pod.metadata) !== fullName) this.leave(entry);
    entry.pod = pod;
    this.byUID.set(uid, entry);
    this.byFullName.set(fullName, (this.byFullName.get(fullName) ?? new Set()).add(entry));
    return entry;
  }

  removePod(uid: string): void {
    const entry = this.byUID.get(uid);
    if (entry === undefined) return;
    this.leave(entry);
    this.byUID.delete(uid);
  }

  get(uid: string): Pod | undefined {
    return this.byUID.get(uid)?.pod;
  }

  entry(uid: string): PodEntry | undefined {
    return this.byUID.get(uid);
  }

  entries(): PodEntry[] {
    return [...this.byUID.values()];
  }

  /** All revisions of a pod, the earliest first. */
  revisions(fullName: string): PodEntry[] {
    return [...(this.byFullName.get(fullName) ?? [])];
  }

  getByFullName(fullName: string): Pod | undefined {
    return this.revisions(fullName)[0]?.pod;
  }

  pods(): Pod[] {
    return this.entries().map(({ pod }) => pod);
  }

  private leave(entry: PodEntry): void {
    const fullName = podFullName(entry.pod.metadata);
    const revisions = this.byFullName.get(fullName);
    revisions?.delete(entry);
    if (revisions?.size === 0) this.byFullName.delete(fullName);
  }
}

import type { Pod } from '../../api/types.ts';
import { podFullName } from '../../api/values/pod-names.ts';
import { dropPull, type PodEntry } from './pod-entry.ts';

/** The currently declared pods, as far as the sync loop has handled updates. kubelet: pod/pod_manager.go */
export class PodManager {
  private readonly byUID = new Map<string, PodEntry>();
  /** Revisions of a pod have the same full name. */
  private readonly byFullName = new Map<string, Set<PodEntry>>();

  /** Adds the pod, or replaces its manifest. */
  setPod(pod: Pod): PodEntry {
    const { uid } = pod.metadata;
    const fullName = podFullName(pod.metadata);
    const entry = this.byUID.get(uid) ?? { pod };
    // A declared UID may change its name.
    if (podFullName(entry.pod.metadata) !== fullName) this.leave(entry);
    entry.pod = pod;
    this.byUID.set(uid, entry);
    this.byFullName.set(fullName, (this.byFullName.get(fullName) ?? new Set()).add(entry));
    return entry;
  }

  /** Deletes the pod's entry and cancels its pulls. Its worker may still be stopping it. */
  removePod(uid: string): void {
    const entry = this.byUID.get(uid);
    if (entry === undefined) return;
    dropPull(entry);
    this.leave(entry);
    this.byUID.delete(uid);
  }

  get(uid: string): Pod | undefined {
    return this.byUID.get(uid)?.pod;
  }

  entry(uid: string): PodEntry | undefined {
    return this.byUID.get(uid);
  }

  /** The entries in which this property is set. */
  entriesWith<K extends Exclude<keyof PodEntry, 'pod'>>(property: K): EntryWith<K>[] {
    const found: EntryWith<K>[] = [];
    for (const entry of this.byUID.values()) if (has(entry, property)) found.push(entry);
    return found;
  }

  /** All revisions of a pod, earliest first. */
  revisions(fullName: string): PodEntry[] {
    return [...(this.byFullName.get(fullName) ?? [])];
  }

  getByFullName(fullName: string): Pod | undefined {
    return this.revisions(fullName)[0]?.pod;
  }

  pods(): Pod[] {
    return Array.from(this.byUID.values(), ({ pod }) => pod);
  }

  private leave(entry: PodEntry): void {
    const fullName = podFullName(entry.pod.metadata);
    const revisions = this.byFullName.get(fullName);
    revisions?.delete(entry);
    if (revisions?.size === 0) this.byFullName.delete(fullName);
  }
}

type EntryWith<K extends keyof PodEntry> = PodEntry & { [P in K]: NonNullable<PodEntry[P]> };

function has<K extends keyof PodEntry>(entry: PodEntry, property: K): entry is EntryWith<K> {
  return entry[property] !== undefined && entry[property] !== false;
}

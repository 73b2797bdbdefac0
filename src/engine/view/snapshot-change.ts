import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../../api/types.ts';
import type { KubeletEvent } from './events.ts';
import { isKeptByPod, maxEventsPerPod } from './event-bus.ts';
import type { EngineSnapshot, PodSnapshot } from './snapshot.ts';

/** The difference between two snapshots, with the events in between, as plain JSON. Empty if nothing happened. */
export interface SnapshotChange {
  node?: FieldsChange<NodePart>;
  /** Pods that are new or changed. */
  pods?: PodChange[];
  /** The UIDs of all pods in order, if pods were added, removed or moved. */
  order?: string[];
  /** Events since the earlier snapshot, oldest first. */
  events?: KubeletEvent[];
}

/** The fields of an object that changed. */
interface FieldsChange<T> {
  set?: Partial<T>;
  /** Fields that are absent now. */
  unset?: (keyof T)[];
}

type NodePart = Omit<EngineSnapshot, 'pods'>;
type EntryPart = Omit<PodSnapshot, 'pod' | 'events'>;

interface PodChange {
  uid: string;
  /** Set for a new pod, or for one whose events were missed. Includes its events so far. */
  whole?: PodSnapshot;
  pod?: FieldsChange<Pod>;
  entry?: FieldsChange<EntryPart>;
}

/** Returns the change from `before` to `after`. Skips objects that are identical in both. */
export function computeChange(
  before: EngineSnapshot,
  after: EngineSnapshot,
  events: readonly KubeletEvent[],
): SnapshotChange {
  const node = changedFields(nodePart(before), nodePart(after));
  const known = byUID(before.pods);
  const pods = after.pods.flatMap((entry) => podChange(known.get(uidOf(entry)), entry) ?? []);
  const order = after.pods.map(uidOf);
  const hasMoved = !isDeepStrictEqual(before.pods.map(uidOf), order);
  return {
    ...(node && { node }),
    ...(pods.length > 0 && { pods }),
    ...(hasMoved && { order }),
    ...(events.length > 0 && { events: [...events] }),
  };
}

/** Returns the snapshot after a change. Unchanged pods stay the same objects. */
export function applyChange(before: EngineSnapshot, change: SnapshotChange): EngineSnapshot {
  const known = byUID(before.pods);
  const withEvents = new Set<string>();
  for (const { uid, whole, pod, entry } of change.pods ?? []) {
    const old = whole ?? known.get(uid);
    if (old === undefined) continue;
    if (whole !== undefined) withEvents.add(uid);
    known.set(uid, { ...withFields(old, entry), pod: withFields(old.pod, pod) });
  }
  for (const [uid, events] of eventsByPod(change.events ?? [])) {
    const entry = known.get(uid);
    if (entry === undefined || withEvents.has(uid)) continue;
    known.set(uid, { ...entry, events: [...entry.events, ...events].slice(-maxEventsPerPod) });
  }
  const order = change.order ?? before.pods.map(uidOf);
  return { ...withFields(before, change.node), pods: order.flatMap((uid) => known.get(uid) ?? []) };
}

function podChange(before: PodSnapshot | undefined, after: PodSnapshot): PodChange | undefined {
  const uid = uidOf(after);
  if (before === undefined) return { uid, whole: after };
  const pod = changedFields(before.pod, after.pod);
  const entry = changedFields(entryPart(before), entryPart(after));
  return pod === undefined && entry === undefined ? undefined : { uid, ...(pod && { pod }), ...(entry && { entry }) };
}

function changedFields<T extends object>(before: T, after: T): FieldsChange<T> | undefined {
  const names = Object.keys(after) as (keyof T)[];
  const set = names.filter((name) => !isDeepStrictEqual(before[name], after[name]));
  const unset = (Object.keys(before) as (keyof T)[]).filter((name) => !(name in after));
  if (set.length + unset.length === 0) return undefined;
  const values = Object.fromEntries(set.map((name) => [name, after[name]])) as Partial<T>;
  return { ...(set.length > 0 && { set: values }), ...(unset.length > 0 && { unset }) };
}

function withFields<T extends object>(before: T, change: FieldsChange<Partial<T>> | undefined): T {
  if (change === undefined) return before;
  const unset = new Set<PropertyKey>(change.unset);
  const kept = Object.entries(before).filter(([name]) => !unset.has(name));
  return { ...(Object.fromEntries(kept) as T), ...change.set };
}

function eventsByPod(events: readonly KubeletEvent[]): Map<string, KubeletEvent[]> {
  const grouped = new Map<string, KubeletEvent[]>();
  for (const event of events) {
    if (!isKeptByPod(event)) continue;
    const list = grouped.get(event.pod.uid);
    if (list === undefined) grouped.set(event.pod.uid, [event]);
    else list.push(event);
  }
  return grouped;
}

function nodePart({ pods: _, ...node }: EngineSnapshot): NodePart {
  return node;
}

function entryPart({ pod: _, events: __, ...entry }: PodSnapshot): EntryPart {
  return entry;
}

function byUID(pods: readonly PodSnapshot[]): Map<string, PodSnapshot> {
  return new Map(pods.map((entry) => [uidOf(entry), entry]));
}

const uidOf = ({ pod }: PodSnapshot): string => pod.metadata.uid;

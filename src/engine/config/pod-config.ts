import { configAnnotations, type SourceName } from '../../api/values/config-annotations.ts';
import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../../api/types.ts';
import { podFullName } from '../../api/values/pod-names.ts';

/** kubelet: types/pod_update.go PodOperation. Static pods have SET and DELETE only by deletionTimestamp. */
export type PodOperation = 'ADD' | 'UPDATE' | 'REMOVE' | 'RECONCILE' | 'DELETE';

/** One of the sources of a node. Several may share a name, such as two URLs; the id is unique. */
export interface SourceId {
  id: string;
  source: SourceName;
}

/** Changes of one source for the sync loop. An ADD without pods means that the source was read for the first time. */
export interface PodUpdate {
  op: PodOperation;
  source: SourceName;
  /** The id of its `SourceId`. */
  sourceId: string;
  pods: Pod[];
}

/**
 * Turns the complete lists of the sources (SETs) into single changes. kubelet: config/config.go podStorage
 *
 * INVARIANTS: each source has its own entries, so one UID in two sources is two entries. Entries change in place, and
 * updates carry copies. Sources never change a pod that they passed here, so the same object means an unchanged pod.
 */
export class PodConfig {
  private readonly sources = new Map<string, Map<string, Entry>>();

  /** True if some source has a pod with this full name. */
  declares(fullName: string): boolean {
    return this.uidOf(fullName) !== undefined;
  }

  /** Returns the UID under which the pod of this full name is declared. Returns undefined if none is. */
  uidOf(fullName: string): string | undefined {
    const entries = [...this.sources.values()].flatMap((pods) => [...pods.values()]);
    return entries.find(({ merged }) => podFullName(merged.metadata) === fullName)?.merged.metadata.uid;
  }

  /** True if a source other than this one has a pod with this UID. */
  declaresElsewhere(uid: string, sourceId: string): boolean {
    return [...this.sources].some(([id, pods]) => id !== sourceId && pods.has(uid));
  }

  /**
   * Merges the complete list of a source. Returns its changes in the order in which the sync loop must handle them.
   * `duplicates` are the pods that repeat a full name of the list. `identify` is called for new and changed pods.
   */
  merge(
    { id, source }: SourceId,
    incoming: readonly Pod[],
    now: number,
    identify: Identify = (pod) => pod,
  ): { updates: PodUpdate[]; duplicates: Pod[] } {
    const known = this.sources.get(id);
    const entries = [...(known?.values() ?? [])];
    const unchanged = new Map(entries.map((entry) => [entry.declared, entry.merged]));
    const named = new Map(entries.map(({ merged }) => [podFullName(merged.metadata), merged]));
    // Within a list the first pod of a full name wins. kubelet: config/config.go filterInvalidPods
    const unique = new Map([...incoming].reverse().map((pod) => [podFullName(pod.metadata), pod]));
    const isFirst = (pod: Pod): boolean => unique.get(podFullName(pod.metadata)) === pod;
    const next = new Map<string, Entry>();
    const changed: Record<PodOperation, Pod[]> = { ADD: [], UPDATE: [], REMOVE: [], RECONCILE: [], DELETE: [] };
    for (const declared of incoming.filter(isFirst)) {
      const pod = unchanged.get(declared) ?? identify(declared, named.get(podFullName(declared.metadata)));
      const uid = pod.metadata.uid;
      const entry = known?.get(uid);
      const annotated = (more = {}): Pod => withAnnotations(pod, { [configAnnotations.source]: source, ...more });
      const merged = entry?.merged ?? annotated({ [configAnnotations.seen]: rfc3339Nano(now) });
      next.set(uid, { declared, merged });
      if (entry === undefined) changed.ADD.push(merged);
      else if (entry.declared !== declared) {
        const op = updateInPlace(merged, annotated());
        if (op !== undefined) changed[op].push(merged);
      }
    }
    for (const [uid, { merged }] of known ?? []) if (!next.has(uid)) changed.REMOVE.push(merged);
    this.sources.set(id, next);
    return {
      updates: toUpdates({ id, source }, changed, known === undefined),
      duplicates: incoming.filter((pod) => !isFirst(pod)),
    };
  }
}

/** Chooses the UID of a declared pod. `previous` is the pod of this name in the last list of the source, if any. */
export type Identify = (pod: Pod, previous: Pod | undefined) => Pod;

interface Entry {
  /** As in the last list of the source. */
  declared: Pod;
  /** With the annotations of the kubelet. */
  merged: Pod;
}

/** Applies the incoming pod. Returns undefined if nothing changed. kubelet: config/config.go checkAndUpdatePod */
function updateInPlace(existing: Pod, incoming: Pod): PodOperation | undefined {
  if (isDeepStrictEqual(meaning(existing), meaning(incoming))) {
    if (isDeepStrictEqual(existing.status, incoming.status)) return undefined;
    assignOrDelete(existing, 'status', incoming.status);
    return 'RECONCILE';
  }
  existing.spec = incoming.spec;
  assignOrDelete(existing, 'status', incoming.status);
  assignOrDelete(existing.metadata, 'labels', incoming.metadata.labels);
  assignOrDelete(existing.metadata, 'deletionTimestamp', incoming.metadata.deletionTimestamp);
  assignOrDelete(existing.metadata, 'deletionGracePeriodSeconds', incoming.metadata.deletionGracePeriodSeconds);
  existing.metadata.annotations = {
    ...incoming.metadata.annotations,
    ...pick(existing.metadata.annotations ?? {}, localAnnotations),
  };
  return incoming.metadata.deletionTimestamp === undefined ? 'UPDATE' : 'DELETE';
}

/** Annotations that the kubelet writes. If only they change, the pod is unchanged. */
const localAnnotations: readonly string[] = [
  configAnnotations.source,
  configAnnotations.mirror,
  configAnnotations.seen,
];

/** kubelet: config/config.go podsDifferSemantically */
function meaning(pod: Pod): unknown {
  const { labels, deletionTimestamp, deletionGracePeriodSeconds, annotations = {} } = pod.metadata;
  return {
    spec: pod.spec,
    labels,
    deletionTimestamp,
    deletionGracePeriodSeconds,
    annotations: Object.fromEntries(Object.entries(annotations).filter(([key]) => !localAnnotations.includes(key))),
  };
}

function toUpdates({ id, source }: SourceId, changed: Record<PodOperation, Pod[]>, first: boolean): PodUpdate[] {
  const order: PodOperation[] = ['REMOVE', 'ADD', 'UPDATE', 'DELETE'];
  const ops = order.filter((op) => changed[op].length > 0);
  const silent = !ops.some((op) => op !== 'REMOVE');
  if (first && silent) ops.push('ADD');
  if (changed.RECONCILE.length > 0) ops.push('RECONCILE');
  return ops.map((op) => ({ op, source, sourceId: id, pods: changed[op].map((pod) => structuredClone(pod)) }));
}

function withAnnotations(pod: Pod, annotations: Record<string, string>): Pod {
  return { ...pod, metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, ...annotations } } };
}

function pick(from: Record<string, string>, keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(from).filter(([key]) => keys.includes(key)));
}

function assignOrDelete<T extends object, K extends keyof T>(target: T, key: K, value: T[K] | undefined): void {
  if (value === undefined) Reflect.deleteProperty(target, key);
  else target[key] = value;
}

/** RFC 3339 with nine digits, as the kubelet stamps `config.seen`; a JavaScript clock knows only three. */
function rfc3339Nano(now: number): string {
  return new Date(now).toISOString().replace('Z', '000000Z');
}

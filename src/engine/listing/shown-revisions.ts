import { podKey } from '../../api/values/pod-names.ts';
import type { PodSnapshot } from '../view/snapshot.ts';

/** A pod with data that only a running agent has. */
export type ListedPod = Pick<PodSnapshot, 'pod'> & Partial<PodSnapshot>;

/** One pod of the list: its current revision and the one that will replace it. */
export interface ShownPod {
  listed: ListedPod;
  update?: ListedPod;
}

/** Returns each pod once. Prefers the running revision to a stopping one, and that to a waiting one. */
export function shownRevisions(pods: readonly ListedPod[]): ShownPod[] {
  const byName = new Map<string, ListedPod[]>();
  for (const listed of pods) {
    const key = podKey(listed.pod.metadata);
    byName.set(key, [...(byName.get(key) ?? []), listed]);
  }
  return [...byName.values()].flatMap((revisions) => {
    const earlier = revisions.filter(({ replacedBy }) => replacedBy !== undefined);
    const declared = revisions.find(({ replacedBy }) => replacedBy === undefined);
    if (earlier.length === 0) return revisions.map((listed) => ({ listed }));
    const listed = earlier.find(({ worker }) => worker?.state === 'sync') ?? earlier[0];
    return listed === undefined ? [] : [{ listed, ...(declared && { update: declared }) }];
  });
}

import type { PodSnapshot } from '../engine/view/snapshot.ts';

/** A pod with what only a running agent knows of it. */
export type ListedPod = Pick<PodSnapshot, 'pod'> &
  Partial<Pick<PodSnapshot, 'worker' | 'pulls' | 'replacedBy' | 'rejection'>>;

/** One pod of a list: the revision that is there, and the one that is to take its place. */
export interface ShownPod {
  listed: ListedPod;
  update?: ListedPod;
}

/** Every pod once, whatever revisions there are of it: the one that runs, before one that ends, before the one that waits. */
export function shownRevisions(pods: readonly ListedPod[]): ShownPod[] {
  const byName = new Map<string, ListedPod[]>();
  for (const listed of pods) {
    const key = `${listed.pod.metadata.namespace}/${listed.pod.metadata.name}`;
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

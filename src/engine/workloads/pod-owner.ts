import type { Pod } from '../../api/types.ts';
import { podKey } from '../../api/values/pod-names.ts';

/** What has the name of a pod, as the subject of a sentence. */
export interface PodOwner {
  text: string;
  /** Absent if the same list declares it. */
  isOfOtherSource?: true;
}

/** Returns what else has the name of a pod of a workload. Returns undefined if nothing has. */
export type OwnerOf = (pod: Pod) => PodOwner | undefined;

/**
 * Returns who has the names of a workload's pods. `own` are those that it declares in `list`, and `otherSourceOf`
 * returns where another source declares a pod.
 */
export function ownersNextTo(
  list: readonly Pod[],
  own: readonly Pod[],
  otherSourceOf: (pod: Pod) => string | undefined,
): OwnerOf {
  const uids = new Set(own.map(({ metadata }) => metadata.uid));
  const foreign = new Set(
    list.filter(({ metadata }) => !uids.has(metadata.uid)).map(({ metadata }) => podKey(metadata)),
  );
  return (pod) => {
    if (foreign.has(podKey(pod.metadata))) return { text: 'another pod of its manifests' };
    const where = otherSourceOf(pod);
    return where === undefined ? undefined : { text: `a pod of ${where}`, isOfOtherSource: true };
  };
}

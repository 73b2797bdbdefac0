import type { PodName } from '../../api/values/pod-names.ts';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { ownsPod } from '../../engine/workloads/owns-pod.ts';
import { declaredWorkloads } from '../objects/declared-config-objects.ts';
import { lastNodeName } from '../objects/last-node-name.ts';
import { workloadNamed, workloadAt } from '../objects/find-workload.ts';

/** True for the pods of a workload. */
export type IsOfWorkload = (pod: PodName) => boolean;

/**
 * Returns what tells the pods of the workload that a word such as `deploy/web` means. Resolves with undefined if it
 * means none. Without an agent, its snapshot is undefined and the manifests that were declared last count.
 */
export async function podsOfWorkload(
  word: string,
  { rootDir, namespace }: { rootDir: string; namespace?: string | undefined },
  snapshot: EngineSnapshot | undefined,
): Promise<IsOfWorkload | undefined> {
  if (snapshot !== undefined) {
    const workload = workloadAt(snapshot, word, namespace);
    return workload && ((pod) => pod.namespace === workload.namespace && workload.pods.includes(pod.name));
  }
  const named = workloadNamed(word);
  const declared = named === undefined ? [] : await declaredWorkloads(rootDir, await lastNodeName(rootDir));
  const found = declared
    .map(({ workload }) => workload)
    .filter(
      (one) =>
        one.kind === named?.kind && one.name === named.name && (namespace === undefined || one.namespace === namespace),
    );
  return found.length === 0 ? undefined : (pod) => found.some((workload) => ownsPod(workload, pod));
}

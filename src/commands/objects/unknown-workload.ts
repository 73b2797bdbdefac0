import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { UserError } from '../../errors.ts';
import { workloadNamed, knownWorkloads } from './find-workload.ts';
import { notFound } from './not-found.ts';
import { refusedHint } from './refused-manifest.ts';

/** What an agent knows about its workloads, pods and manifests. */
type KnownNode = Pick<EngineSnapshot, 'nodeName' | 'sources' | 'pods' | 'workloads'>;

/**
 * The error of a word such as `deploy/nope` that names no pod and no workload. Resolves with undefined if the word has
 * no kind of workload, or if a namespace has the name of that kind. `node` is undefined without an agent.
 */
export async function unknownWorkload(
  word: string,
  namespace: string | undefined,
  node: KnownNode | undefined,
): Promise<UserError | undefined> {
  const named = workloadNamed(word);
  const [first] = word.split('/');
  if (named === undefined || node?.pods.some(({ pod }) => pod.metadata.namespace === first)) return undefined;
  const error = notFound(named, node ? knownWorkloads(node) : []);
  const hint = node && (await refusedHint(node, { pod: named.name, namespace }));
  return hint === undefined ? error : new UserError(error.message, { hint });
}

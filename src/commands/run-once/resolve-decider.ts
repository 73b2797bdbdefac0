import { podKey } from '../../api/values/pod-names.ts';
import type { Pod } from '../../api/types.ts';
import { initAndRegularContainers } from '../../api/values/containers.ts';
import { UserError } from '../../errors.ts';
import type { RunEnd } from '../../node/run-once/decide-outcomes.ts';
import { resolvePods } from '../pod/resolve-pods.ts';

/**
 * The pod or container of `--exit-code-from [NAMESPACE/]POD[/CONTAINER]`. Throws a `UserError` if no pod or several
 * pods match.
 */
export function resolveDecider(text: string, pods: readonly Pod[], nodeName: string): NonNullable<RunEnd['decider']> {
  const matches = [podOnly(text, pods, nodeName), podWithContainer(text, pods, nodeName)].flat();
  const [only, ...others] = matches;
  if (only !== undefined && others.length === 0) return only;
  const names = pods.map(({ metadata }) => podKey(metadata)).join(', ');
  const what = only === undefined ? 'matches no pod or container' : 'matches several pods';
  throw new UserError(`--exit-code-from ${text} ${what} of the manifests`, {
    hint: `Write POD or POD/CONTAINER. The pods are ${names}.`,
  });
}

type Decider = NonNullable<RunEnd['decider']>;

function podOnly(pod: string, pods: readonly Pod[], nodeName: string): Decider[] {
  if (pod.split('/').length > 2) return [];
  return matchingPods(pod, pods, nodeName).map(({ metadata }) => ({ podUID: metadata.uid, container: undefined }));
}

function podWithContainer(text: string, pods: readonly Pod[], nodeName: string): Decider[] {
  const cut = text.lastIndexOf('/');
  if (cut <= 0) return [];
  const container = text.slice(cut + 1);
  return matchingPods(text.slice(0, cut), pods, nodeName)
    .filter(({ spec }) => initAndRegularContainers(spec).some(({ name }) => name === container))
    .map(({ metadata }) => ({ podUID: metadata.uid, container }));
}

const matchingPods = (pod: string, pods: readonly Pod[], nodeName: string): Pod[] =>
  resolvePods(pods, { pod, nodeName }, ({ metadata }) => metadata);

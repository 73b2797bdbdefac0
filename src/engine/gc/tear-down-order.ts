import { dependsOn, dependsOnAnnotation, findDependency } from '../../api/values/depends-on.ts';
import type { Pod } from '../../api/types.ts';
import { computeStopOrder } from '../lifecycle/stop-order.ts';
import type { RuntimePod } from '../container/pod-records.ts';

/** The reverse of the start order of the pods of one node, as UIDs in steps, from what the runtime knows of them. */
export function computeTearDownOrder(pods: readonly RuntimePod[]): string[][] {
  const asNamedOn = (nodeName: string): Pod[] => pods.map((pod) => asPod(pod, nodeName));
  // The runtime does not tell the name of the node. That of which most dependencies are found is it, or as good.
  const [named = []] = commonNameEnds(pods)
    .map(asNamedOn)
    .sort((a, b) => dependenciesFound(b) - dependenciesFound(a));
  return computeStopOrder(named).map((step) => step.map(({ metadata }) => metadata.uid));
}

const dependenciesFound = (pods: readonly Pod[]): number =>
  pods.flatMap(dependsOn).filter((key) => findDependency(key, pods) !== undefined).length;

/** What follows a `-` in the names of all, as the name of the node does; nothing as well. */
function commonNameEnds([first, ...others]: readonly RuntimePod[]): string[] {
  const [, ...parts] = first?.name.split('-') ?? [];
  const ends = parts.map((_, index) => parts.slice(index).join('-'));
  return ['', ...ends].filter((end) => others.every(({ name }) => end === '' || name.endsWith(`-${end}`)));
}

function asPod({ uid, name, namespace, dependsOn: others }: RuntimePod, nodeName: string): Pod {
  const annotations = others === undefined ? {} : { [dependsOnAnnotation]: others };
  return { metadata: { uid, name, namespace, annotations }, spec: { nodeName, containers: [] } };
}

import { isPodKind, parseReference, type PodReference } from '../objects/pod-reference.ts';

type MetadataOf<T> = (pod: T) => { name: string; namespace: string } | undefined;

/** The pods that a reference matches: by name, or else by name plus node name. */
export function resolvePods<T>(pods: readonly T[], reference: PodReference, metadataOf: MetadataOf<T>): T[] {
  const isNamed: IsNamed = (podName, name) => podName === name;
  const isOfThisNode: IsNamed = (podName, name) => podName === `${name}-${reference.nodeName}`;
  return podsNamed(pods, reference, metadataOf, [isNamed, isOfThisNode]);
}

/**
 * The pods that a reference matches by name plus another node name, such as an earlier name of this node. Called only
 * after `resolvePods` finds none, and never to change a declared pod, because `web` would match `web-admin-edge1` too.
 */
export function podsOfOtherNodes<T>(pods: readonly T[], reference: PodReference, metadataOf: MetadataOf<T>): T[] {
  const isOfOtherNode: IsNamed = (podName, name) =>
    podName.startsWith(`${name}-`) && !podName.endsWith(`-${reference.nodeName}`);
  return podsNamed(pods, reference, metadataOf, [isOfOtherNode]);
}

/** The pods that `resolvePods` finds, or otherwise those of other node names. For commands that only show pods. */
export function podsShown<T>(pods: readonly T[], reference: PodReference, metadataOf: MetadataOf<T>): T[] {
  const found = resolvePods(pods, reference, metadataOf);
  return found.length > 0 ? found : podsOfOtherNodes(pods, reference, metadataOf);
}

type IsNamed = (podName: string, name: string) => boolean;

/** The pods of the first rule that matches any. A namespace takes precedence over a workload of the same name. */
function podsNamed<T>(
  pods: readonly T[],
  reference: PodReference,
  metadataOf: MetadataOf<T>,
  rules: readonly IsNamed[],
): T[] {
  const matching = ({ namespace, name }: ReturnType<typeof parseReference>): T[] => {
    const own = pods.filter((pod) => namespace === undefined || metadataOf(pod)?.namespace === namespace);
    const found = rules.map((isNamed) => own.filter((pod) => isNamed(metadataOf(pod)?.name ?? '', name)));
    return found.find((some) => some.length > 0) ?? [];
  };
  const { namespace } = reference;
  const name = nameOfWorkload(reference.pod);
  if (name !== undefined && namespace !== undefined && !reference.pod.startsWith(`${namespace}/`)) {
    return matching({ namespace, name });
  }
  const found = matching(parseReference(reference));
  return found.length > 0 || name === undefined ? found : matching({ namespace: undefined, name });
}

/** The name in `deployment/web` or `deployment.apps/web`. Returns undefined for other texts. */
export function nameOfWorkload(text: string): string | undefined {
  const [, kind = '', name] = /^(\w+)(?:\.(?:apps|batch))?\/([^/]+)$/.exec(text) ?? [];
  return workloads.includes(kind.toLowerCase()) ? name : undefined;
}

/** Kinds whose first pod has their name, as kubectl writes them. */
const workloads: readonly string[] = [
  ...['deploy', 'deployment', 'deployments', 'rs', 'replicaset', 'replicasets', 'sts', 'statefulset', 'statefulsets'],
  ...['ds', 'daemonset', 'daemonsets', 'rc', 'replicationcontroller', 'replicationcontrollers', 'job', 'jobs'],
];

/** Drops the kind before names, as in `pod web`. With `isAlone`, the kind may be the only arg, as in `pods --all`. */
export function withoutPodKind(args: readonly string[], isAlone = false): string[] {
  const [first = '', ...rest] = args;
  return isPodKind(first) && (isAlone || rest.length > 0) ? rest : [...args];
}

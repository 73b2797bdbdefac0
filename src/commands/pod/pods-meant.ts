import { UserError } from '../../errors.ts';

/** A user's reference to a pod. */
export interface PodReference {
  /**
   * `name`, a static pod's name without the node's, or `namespace/name`. May begin with `pod/`. `deploy/web` means the
   * pod of a workload, if no namespace of that name has such a pod.
   */
  readonly pod: string;
  readonly namespace?: string | undefined;
  /** Suffix of the names of static pods. */
  readonly nodeName: string;
}

/** The pods that a reference matches: by name, or by name plus node name, also of an earlier node name. */
export function podsMeant<T>(
  pods: readonly T[],
  reference: PodReference,
  metadataOf: (pod: T) => { name: string; namespace: string } | undefined,
): T[] {
  const { nodeName, namespace } = reference;
  const name = workloadNamed(reference.pod);
  if (name !== undefined && namespace !== undefined && !reference.pod.startsWith(`${namespace}/`)) {
    return podsNamed(pods, { namespace, name }, nodeName, metadataOf);
  }
  const found = podsNamed(pods, parseReference(reference), nodeName, metadataOf);
  if (found.length > 0 || name === undefined) return found;
  return podsNamed(pods, { namespace: undefined, name }, nodeName, metadataOf);
}

/** The name in `deployment/web` or `deployment.apps/web`. Returns undefined for other texts. */
export function workloadNamed(text: string): string | undefined {
  const [, kind = '', name] = /^(\w+)(?:\.(?:apps|batch))?\/([^/]+)$/.exec(text) ?? [];
  return workloads.includes(kind.toLowerCase()) ? name : undefined;
}

/** Kinds that run as one pod of their name here, as kubectl writes them. */
const workloads: readonly string[] = [
  ...['deploy', 'deployment', 'deployments', 'rs', 'replicaset', 'replicasets', 'sts', 'statefulset', 'statefulsets'],
  ...['ds', 'daemonset', 'daemonsets', 'rc', 'replicationcontroller', 'replicationcontrollers', 'job', 'jobs'],
];

function podsNamed<T>(
  pods: readonly T[],
  { namespace, name }: ReturnType<typeof parseReference>,
  nodeName: string,
  metadataOf: (pod: T) => { name: string; namespace: string } | undefined,
): T[] {
  const inNamespace = pods.filter((pod) => namespace === undefined || metadataOf(pod)?.namespace === namespace);
  const named = (wanted: (podName: string) => boolean): T[] =>
    inNamespace.filter((pod) => wanted(metadataOf(pod)?.name ?? ''));
  const steps = [
    named((podName) => podName === name),
    named((podName) => podName === `${name}-${nodeName}`),
    named((podName) => podName.startsWith(`${name}-`)),
  ];
  return steps.find((step) => step.length > 0) ?? [];
}

/** The parts of a pod's name. Throws a `UserError` if it is invalid. */
export function parseReference({ pod, namespace }: Pick<PodReference, 'pod' | 'namespace'>): {
  namespace: string | undefined;
  name: string;
} {
  const parts = pod.split('/');
  if (['pod', 'pods', 'po'].includes(parts[0] ?? '') && parts.length > 1) parts.shift();
  const [first = '', second, ...others] = parts;
  if (others.length > 0 || first === '' || second === '') {
    throw new UserError(`"${pod}" is not the name of a pod`, { hint: 'Name it as name or namespace/name.' });
  }
  if (second === undefined) return { namespace, name: first };
  if (namespace !== undefined && namespace !== first) {
    throw new UserError(`"${pod}" names another namespace than --namespace ${namespace}`);
  }
  return { namespace: first, name: second };
}

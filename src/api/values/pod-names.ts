import type { Pod } from '../types.ts';

/** Names one pod, as events do. */
export interface PodRef {
  namespace: string;
  /** Name with the node suffix, as in `etcd-edge1`. */
  name: string;
  uid: string;
}

/** `<name>_<namespace>`, which is unique among static pods. kubelet: container/helpers.go GetPodFullName */
export function podFullName({ metadata }: { metadata: Pick<PodRef, 'name' | 'namespace'> }): string {
  return `${metadata.name}_${metadata.namespace}`;
}

export function podRef(pod: Pod): PodRef {
  const { namespace, name, uid } = pod.metadata;
  return { namespace, name, uid };
}

/** `<name>_<namespace>(<uid>)`, as messages name a pod. kubelet: util/format/pod.go Pod */
export function formatPod(pod: Pod): string {
  return `${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})`;
}

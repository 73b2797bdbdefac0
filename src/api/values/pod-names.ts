import type { Pod } from '../types.ts';

/** Names a pod in all its revisions. */
export interface PodName {
  namespace: string;
  /** Name with the node suffix, as in `etcd-edge1`. */
  name: string;
}

/** Names one revision of a pod, as events do. */
export interface PodRef extends PodName {
  uid: string;
}

/** `<namespace>/<name>`, as people and messages name a pod. */
export function podKey({ namespace, name }: PodName): string {
  return `${namespace}/${name}`;
}

/** `<name>_<namespace>`, which is unique among static pods. kubelet: container/helpers.go GetPodFullName */
export function podFullName({ namespace, name }: PodName): string {
  return `${name}_${namespace}`;
}

export function podRef(pod: Pod): PodRef {
  const { namespace, name, uid } = pod.metadata;
  return { namespace, name, uid };
}

/** `<name>_<namespace>(<uid>)`, as messages name a pod. kubelet: util/format/pod.go Pod */
export function formatPod(pod: Pod): string {
  return `${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})`;
}

import type { Pod } from '../api/types.ts';
import type { PodRef } from './events.ts';

/** `<name>_<namespace>`: what two static pods must not share. kubelet: container/helpers.go GetPodFullName */
export function podFullName(pod: Pod): string {
  return `${pod.metadata.name}_${pod.metadata.namespace}`;
}

export function podRef(pod: Pod): PodRef {
  const { namespace, name, uid } = pod.metadata;
  return { namespace, name, uid };
}

/** `<name>_<namespace>(<uid>)`, as messages name a pod. kubelet: util/format/pod.go Pod */
export function formatPod(pod: Pod): string {
  return `${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})`;
}

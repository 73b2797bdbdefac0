import type { Pod } from './types.ts';

/** Annotations that the kubelet itself writes. kubelet: types/pod_update.go */
export const configAnnotations = {
  source: 'kubernetes.io/config.source',
  mirror: 'kubernetes.io/config.mirror',
  seen: 'kubernetes.io/config.seen',
  hash: 'kubernetes.io/config.hash',
} as const;

/** A mirror pod shows a static pod to an API server, and is never run. kubelet: types/pod_update.go IsMirrorPod */
export function isMirrorPod({ metadata }: Pod): boolean {
  return metadata.annotations?.[configAnnotations.mirror] !== undefined;
}

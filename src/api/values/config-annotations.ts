import type { Pod } from '../types.ts';

/** Sources of pods, `file` and `http` with the kubelet's names. stdin and arguments of `run-once` count as `file`. */
const sourceNames = ['file', 'http', 'applied'] as const;
export type SourceName = (typeof sourceNames)[number];

export function isSourceName(value: unknown): value is SourceName {
  return sourceNames.some((name) => name === value);
}

/** Annotations that the kubelet itself writes. kubelet: types/pod_update.go */
export const configAnnotations = {
  source: 'kubernetes.io/config.source',
  mirror: 'kubernetes.io/config.mirror',
  seen: 'kubernetes.io/config.seen',
  hash: 'kubernetes.io/config.hash',
} as const;

const ownAnnotations: readonly string[] = Object.values(configAnnotations);

/** The annotations of a manifest, without those that the kubelet itself writes. */
export function writtenAnnotations(annotations: Pod['metadata']['annotations'] = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !ownAnnotations.includes(key)));
}

/** A mirror pod shows a static pod to an API server, and never runs. kubelet: types/pod_update.go IsMirrorPod */
export function isMirrorPod({ metadata }: Pod): boolean {
  return metadata.annotations?.[configAnnotations.mirror] !== undefined;
}

/** True for a pod from any source except an API server. kubelet: types/pod_update.go IsStaticPod */
export function isStaticPod({ metadata }: { metadata?: Partial<Pod['metadata']> }): boolean {
  const source = metadata?.annotations?.[configAnnotations.source];
  return source !== undefined && source !== 'api';
}

/** The source that declared a pod. */
export function sourceOf({ metadata }: Pod): SourceName {
  const source = metadata.annotations?.[configAnnotations.source];
  return isSourceName(source) ? source : 'file';
}

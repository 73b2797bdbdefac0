import type { Container, PodSpec } from '../types.ts';

/** True for an init container that keeps running alongside the regular ones. kubelet: IsRestartableInitContainer */
export function isSidecar(container: Container): boolean {
  return container.restartPolicy === 'Always';
}

/**
 * True for an init container that exits before the next one starts. kubelet: policy_static.go isRegularInitContainer
 */
export function isRegularInit({ initContainers = [] }: PodSpec, name: string): boolean {
  return initContainers.some((container) => container.name === name && !isSidecar(container));
}

/** Sidecars in the order of the spec. */
export function sidecarsOf(spec: PodSpec): Container[] {
  return (spec.initContainers ?? []).filter(isSidecar);
}

/** kubelet: types/pod_update.go HasRestartableInitContainer */
export function hasSidecar(spec: PodSpec): boolean {
  return (spec.initContainers ?? []).some(isSidecar);
}

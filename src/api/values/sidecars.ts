import type * as core from 'kubernetes-types/core/v1.js';
import type { Container, PodSpec } from '../types.ts';

/** True for an init container that keeps running beside the regular ones. kubelet: IsRestartableInitContainer */
export function isSidecar(container: Container): boolean {
  return container.restartPolicy === 'Always';
}

/** Sidecars in the order of the spec. */
export function sidecarsOf(spec: PodSpec): Container[] {
  return (spec.initContainers ?? []).filter(isSidecar);
}

/** kubelet: types/pod_update.go HasRestartableInitContainer */
export function hasSidecar(spec: PodSpec): boolean {
  return (spec.initContainers ?? []).some(isSidecar);
}

/**
 * All init, regular and ephemeral containers, each with its field path. kubelet: pkg/apis/core/pods
 * VisitContainersWithPath
 */
export function* eachContainer(
  spec: core.PodSpec,
): Generator<{ container: core.Container | core.EphemeralContainer; field: string }> {
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    for (const [index, container] of (spec[list] ?? []).entries()) yield { container, field: `spec.${list}[${index}]` };
  }
}

/** The container of this name, of any kind. */
export function findContainer(spec: core.PodSpec, name: string): core.Container | core.EphemeralContainer | undefined {
  for (const { container } of eachContainer(spec)) if (container.name === name) return container;
  return undefined;
}

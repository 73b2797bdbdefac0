import type * as core from 'kubernetes-types/core/v1.js';
import type { Container, PodSpec } from '../types.ts';

/** Init containers, then regular ones, in the order of the spec. Without ephemeral ones. */
export function initAndRegularContainers(spec: PodSpec): Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
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

/** The container of this name: init, regular or ephemeral. */
export function findContainer(spec: core.PodSpec, name: string): core.Container | core.EphemeralContainer | undefined {
  for (const { container } of eachContainer(spec)) if (container.name === name) return container;
  return undefined;
}

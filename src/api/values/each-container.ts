import type * as core from 'kubernetes-types/core/v1.js';

/** Init containers, regular and ephemeral ones, each with its field path. kubelet: pkg/apis/core/pods VisitContainersWithPath */
export function* eachContainer(
  spec: core.PodSpec,
): Generator<{ container: core.Container | core.EphemeralContainer; field: string }> {
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    for (const [index, container] of (spec[list] ?? []).entries()) yield { container, field: `spec.${list}[${index}]` };
  }
}

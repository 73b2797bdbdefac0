import type { ContainerStatus, PodSpec } from '../../api/types.ts';

/**
 * True when a regular container runs or ended, so that the pod has been initialized. One that waits for a restart does
 * not count. kubelet: container/helpers.go HasAnyRegularContainerStarted
 */
export function hasAnyRegularContainerStarted(
  spec: Pick<PodSpec, 'containers'>,
  statuses: readonly ContainerStatus[],
): boolean {
  const regular = new Set(spec.containers.map(({ name }) => name));
  return statuses.some(({ name, state }) => regular.has(name) && (state?.running ?? state?.terminated) !== undefined);
}

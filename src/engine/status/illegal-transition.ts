import type { ContainerStatus, PodSpec, PodStatus } from '../../api/types.ts';
import { sidecarsOf } from '../kuberuntime/sidecars.ts';

/**
 * Name of a container that ended for good in `oldStatus` and is something else in `status`, which cannot be: such a
 * status is to be dropped as a whole. kubelet: status/status_manager.go checkContainerStateTransition
 */
export function illegalTransition(oldStatus: PodStatus, status: PodStatus, spec: PodSpec): string | undefined {
  if (spec.restartPolicy !== 'Never' && spec.restartPolicy !== 'OnFailure') return undefined;

  const sidecars = new Set(sidecarsOf(spec).map(({ name }) => name));
  const endedForGood = allStatuses(oldStatus).filter(({ name, state }) => {
    if (!state?.terminated || sidecars.has(name)) return false;
    return spec.restartPolicy === 'Never' || state.terminated.exitCode === 0;
  });
  const current = allStatuses(status);
  return endedForGood.find(({ name }) => current.some((now) => now.name === name && !now.state?.terminated))?.name;
}

function allStatuses({ containerStatuses = [], initContainerStatuses = [] }: PodStatus): readonly ContainerStatus[] {
  return [...containerStatuses, ...initContainerStatuses];
}

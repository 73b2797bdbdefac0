import type { Pod } from '../../../api/types.ts';
import { initAndRegularContainers } from '../../../api/values/containers.ts';
import type { FeatureGates } from '../../../api/values/feature-gates.ts';
import type { PodResources } from './pod-resources.ts';

/** Names of the pod's containers whose CPUs no other container uses, so that they run without a CPU quota. */
export type ExclusiveCPUs = (pod: Pod) => ReadonlySet<string>;

/** kubelet: cm/container_manager_linux.go ContainerHasExclusiveCPUs */
export function exclusiveCPUs(
  podResources: Pick<PodResources, 'resourcesOf'> | undefined,
  gates: Pick<FeatureGates, 'DisableCPUQuotaWithExclusiveCPUs'>,
): ExclusiveCPUs {
  if (podResources === undefined || !gates.DisableCPUQuotaWithExclusiveCPUs) return () => new Set();
  return ({ metadata: { uid }, spec }) =>
    new Set(
      initAndRegularContainers(spec).flatMap(({ name }) =>
        podResources.resourcesOf(uid, name).cpus.length > 0 ? [name] : [],
      ),
    );
}

import type { Container, ContainerStatus, Pod, PodStatus, ResourceList } from '../../api/types.ts';
import { formatQuantity } from '../../api/values/quantity.ts';
import { milliCPU } from '../../api/values/resource-amounts.ts';
import { podLimits, podRequests, toResourceList, toTotals } from '../../api/values/resource-totals.ts';
import type { RuntimeContainerStatus } from '../container/runtime-pod-status.ts';

type Resources = NonNullable<ContainerStatus['resources']>;

/** Kernel minimums: the runtime reports them for all smaller amounts. kubelet: cm/helpers_linux.go */
const minShownMilliCPU = { requests: 2n, limits: 10n };

/**
 * `resources` and `allocatedResources` of a container in the runtime. A running container shows the amounts that the
 * runtime reports, for resources that the pod declares. kubelet: kubelet_pods.go convertContainerStatusResources
 */
export function containerResourceStatus(
  { resources: { requests, limits } = {} }: Container,
  { state, resources: reported = {} }: RuntimeContainerStatus,
): Pick<ContainerStatus, 'resources' | 'allocatedResources'> {
  const { cpuRequestMilli, cpuLimitMilli, memoryLimitBytes } = state === 'running' ? reported : {};
  const resources: Resources = {
    ...(limits && {
      limits: {
        ...limits,
        ...cpuInstead(limits, cpuLimitMilli, minShownMilliCPU.limits),
        ...('memory' in limits &&
          memoryLimitBytes !== undefined && {
            memory: formatQuantity({ nanos: memoryLimitBytes * 1_000_000_000n, format: 'BinarySI' }),
          }),
      },
    }),
    ...(requests && { requests: { ...requests, ...cpuInstead(requests, cpuRequestMilli, minShownMilliCPU.requests) } }),
  };
  return { resources, ...(hasAny(requests) && { allocatedResources: requests }) };
}

/** `resources` and `allocatedResources` of a pod. kubelet: kubelet_pods.go generateAPIPodStatus */
export function podResourceStatus(pod: Pod): Pick<PodStatus, 'resources' | 'allocatedResources'> {
  const requests = toResourceList(podRequests(pod));
  const limits = toResourceList(podLimits(pod));
  return {
    resources: { ...(hasAny(limits) && { limits }), ...(hasAny(requests) && { requests }) },
    ...(hasAny(requests) && { allocatedResources: requests }),
  };
}

const hasAny = (list: ResourceList = {}): boolean => Object.keys(list).length > 0;

function cpuInstead(declared: ResourceList, reported: bigint | undefined, minimum: bigint): ResourceList {
  if (!('cpu' in declared) || reported === undefined) return {};
  const isBelowMinimum = reported <= minimum && milliCPU(toTotals(declared)) <= minimum;
  return isBelowMinimum ? {} : { cpu: formatQuantity({ nanos: reported * 1_000_000n, format: 'DecimalSI' }) };
}

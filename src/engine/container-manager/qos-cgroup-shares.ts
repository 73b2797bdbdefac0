import { podQOSClass } from '../../api/values/qos.ts';
import { podRequests } from '../../api/values/resource-totals.ts';
import type { Pod } from '../../api/types.ts';
import { milliCPUToShares, minShares } from './cpu-conversion.ts';
import { milliCPU } from '../../api/values/resource-amounts.ts';

/**
 * CPU shares of the Burstable and BestEffort cgroups for the active pods.
 * kubelet: cm/qos_container_manager_linux.go setCPUCgroupConfig
 */
export function qosCgroupShares(pods: readonly Pod[]): { Burstable: number; BestEffort: number } {
  const burstableMilliCPU = pods
    .filter((pod) => podQOSClass(pod) === 'Burstable')
    .reduce((sum, pod) => sum + milliCPU(podRequests(pod)), 0n);
  return { Burstable: milliCPUToShares(burstableMilliCPU), BestEffort: minShares };
}

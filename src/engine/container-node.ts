import { join } from 'node:path';
import type { Machine } from './container-manager/machine.ts';
import type { ContainerNode } from './kuberuntime/generate-container-config.ts';

/** What containers of this machine are made with. */
export function containerNode(
  machine: Machine,
  options: { rootDir: string; seccompDefault: boolean; cpuCFSQuota: boolean; cpuCFSQuotaPeriodMicros: number },
): ContainerNode {
  return {
    seccompProfileRoot: join(options.rootDir, 'seccomp'),
    seccompDefault: options.seccompDefault,
    thermalThrottlePaths: machine.thermalThrottlePaths,
    resources: {
      cgroupVersion: machine.cgroupVersion,
      cpuCFSQuota: options.cpuCFSQuota,
      cpuCFSQuotaPeriodMicros: options.cpuCFSQuotaPeriodMicros,
      singleProcessOOMKill: machine.cgroupVersion === 1,
      memoryCapacityBytes: machine.memoryBytes,
      hasSwapController: machine.hasSwapController,
      hugePageSizes: machine.hugePages.map(({ sizeBytes }) => sizeBytes),
    },
  };
}

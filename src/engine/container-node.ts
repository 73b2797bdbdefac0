import { join } from 'node:path';
import type { Machine } from './container-manager/machine.ts';
import type { ContainerNode } from './kuberuntime/generate-container-config.ts';

/** What containers of this machine are made with. */
export function containerNode(
  machine: Machine,
  { rootDir, seccompDefault }: { rootDir: string; seccompDefault: boolean },
): ContainerNode {
  return {
    seccompProfileRoot: join(rootDir, 'seccomp'),
    seccompDefault,
    thermalThrottlePaths: machine.thermalThrottlePaths,
    resources: {
      cgroupVersion: machine.cgroupVersion,
      cpuCFSQuota: true,
      singleProcessOOMKill: machine.cgroupVersion === 1,
      memoryCapacityBytes: machine.memoryBytes,
      hasSwapController: machine.hasSwapController,
      hugePageSizes: machine.hugePageSizes,
    },
  };
}

import { join } from 'node:path';
import type { Machine } from '../engine/container-manager/machine.ts';
import type { ContainerNode } from '../engine/kuberuntime/request/generate-container-config.ts';

/** What of the configuration containers depend on. */
interface ContainerNodeOptions {
  rootDir: string;
  seccompDefault: boolean;
  cpuCFSQuota: boolean;
  /** Milliseconds. */
  cpuCFSQuotaPeriod: number;
  singleProcessOOMKill?: boolean;
}

/** What containers of this machine are made with. */
export function containerNode(machine: Machine, options: ContainerNodeOptions): ContainerNode {
  return {
    seccompProfileRoot: join(options.rootDir, 'seccomp'),
    seccompDefault: options.seccompDefault,
    thermalThrottlePaths: machine.thermalThrottlePaths,
    resources: {
      cgroupVersion: machine.cgroupVersion,
      cpuCFSQuota: options.cpuCFSQuota,
      cpuCFSQuotaPeriodMicros: options.cpuCFSQuotaPeriod * 1000,
      singleProcessOOMKill: machine.cgroupVersion === 1 || (options.singleProcessOOMKill ?? false),
      memoryCapacityBytes: machine.memoryBytes,
      hasSwapController: machine.hasSwapController,
      hugePageSizes: machine.hugePages.map(({ sizeBytes }) => sizeBytes),
    },
  };
}

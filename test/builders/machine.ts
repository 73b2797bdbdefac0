import type { Machine } from '../../src/engine/container-manager/machine.ts';

const gibibyte = 1024n ** 3n;

/** A cgroup v2 machine with four processors and 8 GiB of memory, of which 1 GiB is huge pages. */
export function makeMachine(changes: Partial<Machine> = {}): Machine {
  return {
    cgroupVersion: 2,
    cpus: 4,
    onlineCPUs: new Set([0, 1, 2, 3]),
    memoryBytes: 8n * gibibyte,
    ephemeralStorageBytes: 100n * gibibyte,
    hugePages: [
      { sizeBytes: 2n * 1024n ** 2n, pages: 512n },
      { sizeBytes: gibibyte, pages: 0n },
    ],
    maxPIDs: 32_768n,
    hasSwapController: true,
    swaps: [],
    hasTmpfsNoswap: false,
    selinuxEnabled: false,
    appArmorEnabled: false,
    kernelRelease: '6.1.0-31-amd64',
    thermalThrottlePaths: [],
    ...changes,
  };
}

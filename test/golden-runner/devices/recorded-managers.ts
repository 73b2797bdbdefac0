import { join } from 'node:path';
import { nodeAllocatableReservation } from '../../../src/engine/container-manager/node-allocatable.ts';
import { DiskStateFile } from '../../../src/engine/container-manager/checkpoint/disk-state-file.ts';
import type { Machine } from '../../../src/engine/container-manager/machine.ts';
import { PodResources } from '../../../src/engine/container-manager/resource-managers/pod-resources.ts';
import type { KubeletDeps } from '../../../src/engine/build/kubelet-deps.ts';
import type { Clock } from '../../../src/clock.ts';
import type { NodeConfig } from '../../../src/engine/config/node-config.ts';
import { managerSettings } from '../../../src/node/open-pod-resources.ts';
import type { NodeOptions } from '../../../src/node/options/node-options.ts';
import { makeMachine } from '../../builders/machine.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';

/** A machine of so many processors. */
export const machineOf = (cpus: number): Machine => makeMachine({ cpus, onlineCPUs: new Set(Array(cpus).keys()) });

/** The managers of CPUs and memory on one NUMA node with this machine's processors. Undefined if the flags use none. */
export async function recordedManagers(
  options: NodeOptions,
  { machine, node, clock }: { machine: Machine; node: NodeConfig; clock: Clock },
): Promise<KubeletDeps['podResources']> {
  if (options.cpuManagerPolicy === 'none' && options.memoryManagerPolicy === 'None') return undefined;
  const open = (name: string): Promise<DiskStateFile> =>
    DiskStateFile.open({ path: join(options.rootDir, name), clock, logger: silentLogger });
  const files = { cpu: await open('cpu_manager_state'), memory: await open('memory_manager_state') };
  const cores = [...machine.onlineCPUs].map((cpu) => ({ socket: 0, threads: [cpu] }));
  const deps = {
    settings: managerSettings(options, nodeAllocatableReservation(node.nodeAllocatable.reservations)),
    machine: { nodes: [{ id: 0, cores, distances: [10] }] },
    memory: [{ id: 0, bytes: machine.memoryBytes, hugePages: [] }],
    featureGates: options.featureGates,
    files,
    reconcilePeriodMs: options.cpuManagerReconcilePeriod,
    clock,
    logger: silentLogger,
  };
  return (engine) => new PodResources(deps, engine);
}

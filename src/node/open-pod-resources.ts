import { join } from 'node:path';
import type { ResourceList } from '../api/types.ts';
import { toQuantity } from '../api/values/quantity.ts';
import type { Clock } from '../clock.ts';
import { DiskStateFile } from '../engine/container-manager/checkpoint/disk-state-file.ts';
import { CPUSet } from '../engine/container-manager/cpu-topology/cpu-set.ts';
import { discoverMachine } from '../engine/container-manager/cpu-topology/discover-machine.ts';
import { discoverMemory } from '../engine/container-manager/memory-manager/discover-memory.ts';
import { PodResources } from '../engine/container-manager/resource-managers/pod-resources.ts';
import {
  type EngineOfManagers,
  ResourceManagerError,
  type ResourceManagerSettings,
} from '../engine/container-manager/resource-managers/resource-managers.ts';
import { UserError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { NodeOptions } from './options/node-options.ts';

interface Deps {
  /** systemReserved, kubeReserved and the hard eviction threshold together. */
  nodeReservation: ResourceList;
  clock: Clock;
  logger: Logger;
}

/**
 * Reads the machine and the state files. Returns a function that creates the managers of CPUs and memory nodes. It
 * throws a `UserError` for settings that the kubelet refuses.
 */
export async function openPodResources(
  options: ManagerOptions & Pick<NodeOptions, 'rootDir' | 'featureGates' | 'cpuManagerReconcilePeriod'>,
  { nodeReservation, clock, logger }: Deps,
): Promise<(engine: EngineOfManagers) => PodResources> {
  const open = (name: string): Promise<DiskStateFile> =>
    DiskStateFile.open({ path: join(options.rootDir, name), clock, logger });
  const [machine, memory, cpuFile, memoryFile] = await Promise.all([
    discoverMachine(),
    discoverMemory(),
    open('cpu_manager_state'),
    open('memory_manager_state'),
  ]);
  const deps = {
    settings: managerSettings(options, nodeReservation),
    machine,
    memory,
    featureGates: options.featureGates,
    files: { cpu: cpuFile, memory: memoryFile },
    reconcilePeriodMs: options.cpuManagerReconcilePeriod,
    clock,
    logger,
  };
  return (engine) => withHints(() => new PodResources(deps, engine));
}

/** The configuration of the managers. */
type ManagerOptions = Pick<
  NodeOptions,
  | 'cpuManagerPolicy'
  | 'cpuManagerPolicyOptions'
  | 'memoryManagerPolicy'
  | 'reservedMemory'
  | 'reservedSystemCPUs'
  | 'topologyManagerPolicy'
  | 'topologyManagerPolicyOptions'
  | 'topologyManagerScope'
>;

/** kubelet: cm/container_manager_linux.go NewContainerManager */
export function managerSettings(options: ManagerOptions, nodeReservation: ResourceList): ResourceManagerSettings {
  const { cpu } = nodeReservation;
  return {
    topology: {
      policy: options.topologyManagerPolicy,
      scope: options.topologyManagerScope,
      options: options.topologyManagerPolicyOptions,
    },
    cpu: {
      policy: options.cpuManagerPolicy,
      options: options.cpuManagerPolicyOptions,
      reserved: cpu === undefined ? undefined : toQuantity(cpu),
      reservedCPUs: CPUSet.parse(options.reservedSystemCPUs),
    },
    memory: { policy: options.memoryManagerPolicy, nodeReservation, reservedMemory: options.reservedMemory },
  };
}

/** The policy field of each manager, and how to correct its settings. */
const remedies = {
  topology: {
    field: 'topologyManagerPolicy',
    hint: 'Correct topologyManagerPolicy, topologyManagerScope or topologyManagerPolicyOptions.',
  },
  cpu: {
    field: 'cpuManagerPolicy',
    hint: 'The static policy needs cpu in systemReserved or kubeReserved, or reservedSystemCPUs. See also cpuManagerPolicyOptions.',
  },
  memory: {
    field: 'memoryManagerPolicy',
    hint: 'The memory in reservedMemory must be that of systemReserved, kubeReserved and evictionHard together.',
  },
} as const;

function withHints<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ResourceManagerError)) throw error;
    const { field, hint } = remedies[error.manager];
    throw new UserError(`${field}: ${error.message}`, { hint, cause: error });
  }
}

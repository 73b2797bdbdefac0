import { Command } from 'commander';
import type { KubeletConfiguration } from '../../../src/api/kubelet-configuration/types.ts';
import type { ResourceList } from '../../../src/api/types.ts';
import { formatDurationMs } from '../../../src/api/values/duration.ts';
import { resolveFeatureGates } from '../../../src/api/values/feature-gates.ts';
import { CPUTopology, type DescribedMachine } from '../../../src/engine/container-manager/cpu-topology/cpu-topology.ts';
import { nodeAllocatableReservation } from '../../../src/engine/container-manager/node-allocatable.ts';
import { withReservedCPUs } from '../../../src/engine/container-manager/reserved-cpus.ts';
import {
  ResourceManagerError,
  ResourceManagers,
} from '../../../src/engine/container-manager/resource-managers/resource-managers.ts';
import { UserError } from '../../../src/errors.ts';
import { addConfigurationFlags, flagsLayer } from '../../../src/node/options/add-configuration-flags.ts';
import { managerSettings } from '../../../src/node/open-pod-resources.ts';
import { loadKubeletConfiguration } from '../../builders/load-kubelet-configuration.ts';
import { memoryOf, type RecordedNUMANode } from '../recorded-node.ts';
import { tableAdapter } from '../table-adapter.ts';

interface In {
  config?: Record<string, unknown>;
  machine?: DescribedMachine & { nodes: readonly RecordedNUMANode[] };
  reservedMemoryFlag?: string[];
  optionsFlag?: string[];
}

interface Out {
  decode?: string;
  featureGates?: unknown;
  invalid?: string[];
  reservation?: ResourceList;
  error?: string;
  /** Printed by flags of the kubelet; ours print nothing. */
  string?: string;
}

const refused = { refused: true };

/**
 * Texts for users are our own, so only that the configuration or a flag is refused is compared. Errors of the managers
 * have the kubelet's texts: they come after the reservation.
 */
export const managerConfig = tableAdapter<In, Out>(
  'manager-config',
  ({ config, machine, reservedMemoryFlag, optionsFlag }) => {
    if (reservedMemoryFlag !== undefined) return flagValue('reserved-memory', reservedMemoryFlag, 'reservedMemory');
    if (optionsFlag !== undefined) {
      const value = flagValue('cpu-manager-policy-options', optionsFlag, 'cpuManagerPolicyOptions');
      return 'refused' in value ? value : { options: value['cpuManagerPolicyOptions'] };
    }
    const text = JSON.stringify({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      ...config,
    });
    const { configuration } = loadKubeletConfiguration(text, 'config');
    if (configuration === undefined) return refused;
    return { defaults: defaultsOf(configuration), ...(machine && managersOf(configuration, machine)) };
  },
  {
    recorded: ({ string: _printed, ...out }) => {
      const isRefused = [out.decode, out.featureGates, out.invalid].some((problem) => problem !== undefined);
      return isRefused || (out.error !== undefined && out.reservation === undefined) ? refused : out;
    },
  },
);

function defaultsOf(configuration: KubeletConfiguration): object {
  const { cpuManagerPolicy, memoryManagerPolicy, topologyManagerPolicy, topologyManagerScope } = configuration;
  const cpuManagerReconcilePeriod = formatDurationMs(configuration.cpuManagerReconcilePeriod);
  return {
    ...{ cpuManagerPolicy, cpuManagerReconcilePeriod, memoryManagerPolicy },
    ...{ topologyManagerPolicy, topologyManagerScope },
  };
}

function managersOf(configuration: KubeletConfiguration, machine: NonNullable<In['machine']>): object {
  const { cpus } = new CPUTopology(machine);
  const memory = machine.nodes.map(memoryOf);
  const bytes = memory.reduce((sum, node) => sum + node.bytes, 0n);
  const { reservedSystemCPUs, evictionHard } = configuration;
  try {
    const kept = withReservedCPUs(configuration, reservedSystemCPUs, new Set(cpus));
    const capacity = { cpu: String(cpus.size), memory: bytes.toString() };
    const reservation = nodeAllocatableReservation({ ...kept, capacity, evictionHard });
    return { reservation, ...managerError(configuration, reservation, machine) };
  } catch (error) {
    if (error instanceof UserError) return refused;
    throw error;
  }
}

function managerError(
  configuration: KubeletConfiguration,
  reservation: ResourceList,
  machine: NonNullable<In['machine']>,
): { error?: string } {
  try {
    new ResourceManagers({
      settings: managerSettings(configuration, reservation),
      machine,
      memory: machine.nodes.map(memoryOf),
      featureGates: resolveFeatureGates(configuration.featureGates).featureGates,
      activePods: () => [],
      sourcesReady: () => true,
      podStatus: () => undefined,
      updateContainer: () => Promise.resolve(),
    });
    return {};
  } catch (error) {
    if (error instanceof ResourceManagerError) return { error: error.message };
    throw error;
  }
}

function flagValue(flag: string, values: readonly string[], field: string): Record<string, unknown> {
  const command = addConfigurationFlags(new Command())
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  try {
    command.parse(
      values.flatMap((value) => [`--${flag}`, value]),
      { from: 'user' },
    );
    const { given } = flagsLayer(command.opts());
    return { [field]: new Map(Object.entries(given)).get(field) };
  } catch {
    return refused;
  }
}

import { type Quantity, parseQuantity } from '../api/quantity.ts';
import type { ResourceList } from '../api/types.ts';
import { checkLabelValue, checkQualifiedName } from '../api/validation/names.ts';
import {
  defaultEvictionHard,
  type NodeAllocatableEnforcement,
  nodeAllocatableEnforcements,
} from '../engine/container-manager/node-allocatable.ts';
import { quotaPeriodMicros } from '../engine/container-manager/cpu-conversion.ts';
import { UserError } from '../errors.ts';

/** What a node gives to pods and what it keeps; names and defaults are KubeletConfiguration's. */
export interface ResourceOptions {
  cgroupsPerQOS: boolean;
  enforceNodeAllocatable: NodeAllocatableEnforcement[];
  systemReserved: ResourceList;
  kubeReserved: ResourceList;
  /** Cgroups that exist, in the form of the driver; empty: none. */
  systemReservedCgroup: string;
  kubeReservedCgroup: string;
  /** Quantity or percentage by signal. */
  evictionHard: Record<string, string>;
  maxPods: number;
  /** 0: as many as maxPods. */
  podsPerCore: number;
  /** Processes a pod may have; none if it is not positive. */
  podPidsLimit: number;
  cpuCFSQuota: boolean;
  cpuCFSQuotaPeriodMicros: number;
  allowedUnsafeSysctls: string[];
  nodeLabels: Record<string, string>;
}

/** Flags as commander hands them over. */
export interface ResourceFlags {
  cgroupsPerQos: boolean;
  enforceNodeAllocatable?: string[];
  systemReserved?: string[];
  kubeReserved?: string[];
  systemReservedCgroup: string;
  kubeReservedCgroup: string;
  maxPods: number;
  podsPerCore: number;
  podMaxPids: number;
  cpuCfsQuota: boolean;
  /** Milliseconds. */
  cpuCfsQuotaPeriod?: number;
  allowedUnsafeSysctls?: string[];
  nodeLabels?: string[];
}

const reservable = ['cpu', 'memory', 'ephemeral-storage', 'pid'];
const quotaPeriodsMs = { min: 1, max: 1000 };

/** Checks the flags about resources. kubelet: apis/config/validation/validation.go ValidateKubeletConfiguration */
export function resourceOptions(flags: ResourceFlags): ResourceOptions {
  const { cgroupsPerQos, systemReservedCgroup, kubeReservedCgroup } = flags;
  return {
    cgroupsPerQOS: cgroupsPerQos,
    enforceNodeAllocatable: parseEnforcements(flags),
    systemReserved: parseReserved('--system-reserved', flags.systemReserved),
    kubeReserved: parseReserved('--kube-reserved', flags.kubeReserved),
    systemReservedCgroup,
    kubeReservedCgroup,
    evictionHard: { ...defaultEvictionHard },
    maxPods: flags.maxPods,
    podsPerCore: flags.podsPerCore,
    podPidsLimit: flags.podMaxPids,
    cpuCFSQuota: flags.cpuCfsQuota,
    cpuCFSQuotaPeriodMicros: parseQuotaPeriod(flags.cpuCfsQuotaPeriod),
    allowedUnsafeSysctls: flags.allowedUnsafeSysctls ?? [],
    nodeLabels: parseNodeLabels(flags.nodeLabels),
  };
}

function parseEnforcements(flags: ResourceFlags): NodeAllocatableEnforcement[] {
  // Nobody asked for it, so it goes with what it needs.
  const byDefault = flags.cgroupsPerQos ? ['pods'] : [];
  const words = (flags.enforceNodeAllocatable ?? byDefault).filter((word) => word !== '');
  if (words.includes('none') && words.length > 1) {
    throw new UserError('--enforce-node-allocatable has "none" beside other values');
  }
  const known = words.filter((word) => word !== 'none').map(parseEnforcement);
  const duplicate = known.find((word, index) => known.indexOf(word) !== index);
  if (duplicate !== undefined) throw new UserError(`--enforce-node-allocatable has "${duplicate}" twice`);
  if (known.includes('pods') && !flags.cgroupsPerQos) {
    throw new UserError('--enforce-node-allocatable=pods needs --cgroups-per-qos', {
      hint: 'Without cgroups for pods there is nothing to enforce it on: give --enforce-node-allocatable=none.',
    });
  }
  checkReservedCgroup(known, 'system', flags.systemReservedCgroup);
  checkReservedCgroup(known, 'kube', flags.kubeReservedCgroup);
  return known;
}

function parseEnforcement(word: string): NodeAllocatableEnforcement {
  const known = nodeAllocatableEnforcements.find((candidate) => candidate === word);
  if (known !== undefined) return known;
  throw new UserError(`--enforce-node-allocatable cannot be "${word}"`, {
    hint: `Known are ${nodeAllocatableEnforcements.join(', ')} and none.`,
  });
}

function checkReservedCgroup(known: readonly string[], whose: 'system' | 'kube', cgroup: string): void {
  const enforced = [`${whose}-reserved`, `${whose}-reserved-compressible`].filter((word) => known.includes(word));
  if (enforced.length > 1) {
    throw new UserError(`--enforce-node-allocatable has both ${enforced.join(' and ')}`, { hint: 'Give one of them.' });
  }
  if (enforced.length === 1 && cgroup === '') {
    throw new UserError(`--enforce-node-allocatable=${enforced.join()} needs --${whose}-reserved-cgroup`, {
      hint: `Name the cgroup that those processes are in.`,
    });
  }
}

/** kubelet: cmd/kubelet/app/server.go parseResourceList */
function parseReserved(flag: string, pairs: readonly string[] = []): ResourceList {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [name, text] = splitPair(flag, pair);
      if (!reservable.includes(name)) {
        throw new UserError(`${flag} cannot reserve "${name}"`, { hint: `It can reserve ${reservable.join(', ')}.` });
      }
      if (isAmount(parseQuantity(text))) return [name, text];
      throw new UserError(`${flag}: "${text}" is no amount of ${name}`, { hint: 'Amounts are such as 500m or 1Gi.' });
    }),
  );
}

const isAmount = (quantity: Quantity | undefined): boolean => quantity !== undefined && quantity.nanos >= 0n;

function parseQuotaPeriod(ms: number | undefined): number {
  if (ms === undefined) return quotaPeriodMicros;
  if (ms >= quotaPeriodsMs.min && ms <= quotaPeriodsMs.max) return ms * 1000;
  throw new UserError(`--cpu-cfs-quota-period must be between 1ms and 1s, not ${ms}ms`);
}

/** kubelet: cmd/kubelet/app/options/options.go ValidateKubeletFlags */
function parseNodeLabels(pairs: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [key, value] = splitPair('--node-labels', pair);
      const problem = checkQualifiedName(key) ?? checkLabelValue(value);
      if (problem !== undefined) throw new UserError(`--node-labels: "${pair}" ${problem}`);
      if (!isAllowedNodeLabel(key)) {
        throw new UserError(`--node-labels: "${key}" is a name that Kubernetes keeps to itself`, {
          hint: 'Use a prefix of your own, or node.kubernetes.io/ or kubelet.kubernetes.io/.',
        });
      }
      return [key, value];
    }),
  );
}

/** Labels of Kubernetes's own that a node may give itself. kubelet: kubelet/pkg/apis/well_known_labels.go */
const kubeletLabels: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
]);

function isAllowedNodeLabel(key: string): boolean {
  const [prefix = ''] = key.includes('/') ? key.split('/') : [];
  const isKubernetes = /(^|\.)(kubernetes|k8s)\.io$/.test(prefix);
  return !isKubernetes || kubeletLabels.has(key) || /(^|\.)(kubelet|node)\.kubernetes\.io$/.test(prefix);
}

function splitPair(flag: string, pair: string): [string, string] {
  const equals = pair.indexOf('=');
  if (equals > 0) return [pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()];
  throw new UserError(`${flag} must be NAME=VALUE, not "${pair}"`);
}

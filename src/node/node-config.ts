import { join } from 'node:path';
import { parseEvictionThresholds } from '../api/values/eviction-thresholds.ts';
import type { FeatureGates } from '../api/values/feature-gates.ts';
import { quantityValue, toQuantity } from '../api/values/quantity.ts';
import type { Machine } from '../engine/container-manager/machine.ts';
import {
  nodeAllocatable,
  type NodeReservations,
  overReservedResources,
} from '../engine/container-manager/node-allocatable.ts';
import { nodeCapacity } from '../engine/container-manager/node-capacity.ts';
import { withReservedCPUs } from '../engine/container-manager/reserved-cpus.ts';
import { containerLogLinksDir } from '../engine/container/log-paths.ts';
import type { EvictionConfig } from '../engine/eviction/eviction-config.ts';
import type { ImageSettings } from '../engine/images/image-manager.ts';
import type { ContainerNode } from '../engine/kuberuntime/request/generate-container-config.ts';
import { sysctlAllowlist } from '../engine/lifecycle/sysctl-allowlist.ts';
import type { NodeConfig } from '../engine/config/node-config.ts';
import { UserError } from '../errors.ts';
import { type PullVerification, verificationPolicies } from '../api/values/pull-verification.ts';
import type { NodeOptions } from './options/node-options.ts';

/** kubelet: kubelet.go MaxContainerBackOff */
const maxContainerBackOffMs = 300_000;

/**
 * The node's configuration from the flags and the machine. Throws a `UserError` if more is reserved than the node has.
 */
export function nodeConfig(
  options: NodeOptions,
  machine: Machine,
  { cgroupDriver, nodeIPs, userNamespaceIDs }: Pick<NodeConfig, 'cgroupDriver' | 'nodeIPs' | 'userNamespaceIDs'>,
): NodeConfig {
  const { rootDir, podLogsDir, nodeName, resolvConf, clusterDNS, clusterDomain } = options;
  const { cgroupsPerQOS, evictionHard } = options;
  refuseCgroupVersion(options, machine);
  refuseSwap(options, machine);
  const capacity = nodeCapacity(machine, options);
  const kept = { ...withReservedCPUs(options, options.reservedSystemCPUs, machine.onlineCPUs), evictionHard };
  // The kernel can limit the processes of pods, but a node's status does not show this limit.
  const reservations = { ...kept, capacity: { ...capacity, pid: machine.maxPIDs.toString() } };
  refuseOverReservation(reservations);
  const allocatable = nodeAllocatable({ ...kept, capacity });
  return {
    nodeName,
    nodeIPs,
    rootDir,
    podLogsDir,
    containerLogLinksDir,
    resolvConf,
    clusterDNS,
    clusterDomain,
    cgroupDriver,
    cgroupRoot: options.cgroupRoot || '/',
    cgroupsPerQOS,
    nodeAllocatable: {
      reservations,
      enforce: options.enforceNodeAllocatable,
      systemReservedCgroup: options.systemReservedCgroup,
      kubeReservedCgroup: options.kubeReservedCgroup,
    },
    podPidsLimit: options.podPidsLimit,
    isTmpfsSwapped: machine.swaps.length > 0 && !machine.hasTmpfsNoswap,
    syncFrequencyMs: options.syncFrequency,
    eviction: evictionConfig(options),
    kernelMemcgNotification: options.kernelMemcgNotification,
    maxContainerRestartPeriodMs: options.crashLoopBackOff.maxContainerRestartPeriod ?? maxContainerBackOffMs,
    images: imageSettings(options),
    containerGC: options.containerGC,
    containerLogs: {
      maxSizeBytes: quantityValue(toQuantity(options.containerLogMaxSize)),
      maxFiles: options.containerLogMaxFiles,
      maxWorkers: options.containerLogMaxWorkers,
      monitorIntervalMs: options.containerLogMonitorInterval,
    },
    shutdown: {
      shutdownGracePeriodSeconds: Math.trunc(options.shutdownGracePeriod / 1000),
      shutdownGracePeriodCriticalPodsSeconds: Math.trunc(options.shutdownGracePeriodCriticalPods / 1000),
      byPodPriority: options.shutdownGracePeriodByPodPriority.map(
        ({ priority, shutdownGracePeriodSeconds: seconds }) => ({ priority, seconds }),
      ),
    },
    runtimeClasses: options.runtimeClasses,
    inPlace: {
      isEnabled: options.inPlace,
      isPinning: options.cpuManagerPolicy === 'static' || options.memoryManagerPolicy === 'Static',
    },
    localStorageCapacityIsolation: options.localStorageCapacityIsolation,
    volumeStatsAggPeriodMs: options.volumeStatsAggPeriod,
    featureGates: options.featureGates,
    selinuxEnabled: machine.selinuxEnabled,
    capacity,
    allocatable,
    labels: nodeLabels(nodeName, process.arch, options.nodeLabels),
    allowedSysctls: sysctlAllowlist(machine.kernelRelease, options.allowedUnsafeSysctls),
    appArmorEnabled: machine.appArmorEnabled,
    userNamespaceIDs,
    containerNode: containerNode(machine, options, quantityValue(toQuantity(allocatable['memory'] ?? '0'))),
  };
}

function evictionConfig(options: NodeOptions): EvictionConfig {
  return {
    // Validation has reported every mistake.
    thresholds: parseEvictionThresholds(options) ?? [],
    pressureTransitionMs: options.evictionPressureTransitionPeriod,
    maxPodGracePeriodSeconds: options.evictionMaxPodGracePeriod,
    policy: options.evictionPolicy,
  };
}

function imageSettings(options: NodeOptions): ImageSettings {
  const { serializeImagePulls, maxParallelImagePulls = Infinity, registryPullQPS, registryBurst } = options;
  return {
    maxParallelPulls: serializeImagePulls ? 1 : maxParallelImagePulls,
    registryPullQPS,
    registryBurst,
    isOffline: options.offline,
    verification: pullVerification(options),
    gc: {
      highThresholdPercent: options.imageGCHighThresholdPercent,
      lowThresholdPercent: options.imageGCLowThresholdPercent,
      minAgeMs: options.imageMinimumGCAge,
      maxAgeMs: options.imageMaximumGCAge,
    },
  };
}

/** The policy is empty if the gate KubeletEnsureSecretPulledImages is off. */
function pullVerification(options: NodeOptions): PullVerification | undefined {
  const policy = verificationPolicies.find((name) => name === options.imagePullCredentialsVerificationPolicy);
  return policy && { policy, allowlist: options.preloadedImagesVerificationAllowlist };
}

function refuseCgroupVersion(options: NodeOptions, machine: Machine): void {
  const problem = cgroupVersionProblem(options, machine);
  if (problem) throw new UserError(problem.message, { hint: problem.hint });
}

/** A setting that refuses cgroup v1. kubelet: validation_linux.go validateKubeletOSConfiguration */
export function cgroupVersionProblem(
  { failCgroupV1, singleProcessOOMKill }: Pick<NodeOptions, 'failCgroupV1' | 'singleProcessOOMKill'>,
  { cgroupVersion }: Pick<Machine, 'cgroupVersion'>,
): { field: string; message: string; hint: string } | undefined {
  if (cgroupVersion !== 1) return undefined;
  const boot = 'Boot it with cgroup v2 (systemd.unified_cgroup_hierarchy=1)';
  if (failCgroupV1) {
    const message = 'this machine has cgroup v1 and failCgroupV1 is set';
    return { field: 'failCgroupV1', message, hint: `${boot}, or leave out failCgroupV1.` };
  }
  if (singleProcessOOMKill !== false) return undefined;
  const message = 'singleProcessOOMKill: false needs cgroup v2, and this machine has cgroup v1';
  return { field: 'singleProcessOOMKill', message, hint: `${boot}, or leave singleProcessOOMKill out.` };
}

/**
 * The kubelet also refuses swap if failSwapOn is not set. kubelet: cm/container_manager_linux.go NewContainerManager
 */
function refuseSwap({ refusesSwap }: Pick<NodeOptions, 'refusesSwap'>, { swaps }: Machine): void {
  if (!refusesSwap || swaps.length === 0) return;
  throw new UserError(`swap is on (${swaps.map(({ name }) => name).join(', ')}), and failSwapOn is set`, {
    hint: 'Run swapoff -a and remove the swap from /etc/fstab, or set failSwapOn: false. Pods get no swap by default.',
  });
}

/** kubelet: cm/node_container_manager_linux.go validateNodeAllocatable */
function refuseOverReservation(reservations: NodeReservations): void {
  const [resource] = overReservedResources(reservations);
  if (resource === undefined) return;
  throw new UserError(`more ${resource} is reserved than the node has (${reservations.capacity[resource] ?? '0'})`, {
    hint: 'Lower --system-reserved, --kube-reserved or the eviction thresholds.',
  });
}

/** Names of architectures in Go and Kubernetes that differ from Node's. */
const goArchitectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/** The labels of a node: standard ones and configured ones. kubelet: kubelet_node_status.go initialNode */
export function nodeLabels(
  nodeName: string,
  nodeArch: string,
  configured: Readonly<Record<string, string>>,
): Record<string, string> {
  const arch = goArchitectures[nodeArch] ?? nodeArch;
  return {
    'kubernetes.io/hostname': nodeName,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': arch,
    'beta.kubernetes.io/os': 'linux',
    'beta.kubernetes.io/arch': arch,
    ...configured,
  };
}

/** The configuration that concerns containers. */
interface ContainerNodeOptions {
  rootDir: string;
  seccompDefault: boolean;
  cpuCFSQuota: boolean;
  /** Milliseconds. */
  cpuCFSQuotaPeriod: number;
  singleProcessOOMKill?: boolean;
  memorySwap: { swapBehavior: string };
  memoryThrottlingFactor: number;
  memoryReservationPolicy: string;
  featureGates: Pick<FeatureGates, 'MemoryQoS'>;
}

function swapForPods({ swaps }: Machine, { memorySwap }: Pick<ContainerNodeOptions, 'memorySwap'>): bigint {
  if (memorySwap.swapBehavior !== 'LimitedSwap') return 0n;
  return swaps.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0n);
}

/** The facts about this node that its containers depend on. */
function containerNode(machine: Machine, options: ContainerNodeOptions, allocatableMemoryBytes: bigint): ContainerNode {
  const isMemoryQoS = options.featureGates.MemoryQoS && machine.cgroupVersion === 2;
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
      swapForPodsBytes: swapForPods(machine, options),
      hugePageSizes: machine.hugePages.map(({ sizeBytes }) => sizeBytes),
      memoryQoS: isMemoryQoS
        ? {
            throttlingFactor: options.memoryThrottlingFactor,
            allocatableMemoryBytes,
            reservesMemory: options.memoryReservationPolicy === 'TieredReservation',
          }
        : undefined,
    },
  };
}

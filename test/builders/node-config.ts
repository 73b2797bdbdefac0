import { join } from 'node:path';
import { defaultFeatureGates } from '../../src/api/values/feature-gates.ts';
import { defaultContainerGCPolicy } from '../../src/engine/gc/container-gc.ts';
import { defaultInPlacePolicy } from '../../src/api/values/in-place.ts';
import { sysctlAllowlist } from '../../src/engine/lifecycle/sysctl-allowlist.ts';
import type { NodeConfig } from '../../src/engine/config/node-config.ts';
import { makeNodeResources } from '../engine/kuberuntime/node-resources.ts';

/** Settings that a test of flags does not look at. */
export const fixedNode: Pick<NodeConfig, 'cgroupDriver' | 'nodeIPs' | 'userNamespaceIDs'> = {
  cgroupDriver: 'cgroupfs',
  nodeIPs: () => ['192.0.2.1'],
  userNamespaceIDs: { first: 65_536, end: 2 ** 32, length: 65_536 },
};

/** Node `edge1` with everything it writes in `folder`, and without cgroups or a resolver file. */
export function makeNodeConfig(folder: string, overrides: Partial<NodeConfig> = {}): NodeConfig {
  return {
    nodeName: 'edge1',
    ...fixedNode,
    rootDir: join(folder, 'root'),
    podLogsDir: join(folder, 'logs', 'pods'),
    containerLogLinksDir: join(folder, 'logs', 'containers'),
    resolvConf: '',
    clusterDNS: ['192.0.2.53'],
    clusterDomain: '',
    cgroupRoot: '/',
    cgroupsPerQOS: false,
    nodeAllocatable: {
      reservations: { capacity: {}, systemReserved: {}, kubeReserved: {}, evictionHard: {} },
      enforce: [],
      systemReservedCgroup: '',
      kubeReservedCgroup: '',
    },
    podPidsLimit: -1,
    isTmpfsSwapped: false,
    syncFrequencyMs: 60_000,
    maxContainerRestartPeriodMs: 300_000,
    images: {
      maxParallelPulls: 1,
      registryPullQPS: 0,
      registryBurst: 0,
      isOffline: false,
      verification: { policy: 'NeverVerifyPreloadedImages', allowlist: [] },
      gc: { highThresholdPercent: 85, lowThresholdPercent: 80, minAgeMs: 120_000, maxAgeMs: 0 },
    },
    containerGC: defaultContainerGCPolicy,
    // Rotates no logs, because a fake runtime writes none.
    containerLogs: { maxSizeBytes: -1n, maxFiles: 5, maxWorkers: 1, monitorIntervalMs: 10_000 },
    shutdown: { shutdownGracePeriodSeconds: 0, shutdownGracePeriodCriticalPodsSeconds: 0, byPodPriority: [] },
    eviction: { thresholds: [], pressureTransitionMs: 300_000, maxPodGracePeriodSeconds: 0, policy: 'byPriority' },
    kernelMemcgNotification: false,
    localStorageCapacityIsolation: true,
    volumeStatsAggPeriodMs: 60_000,
    inPlace: defaultInPlacePolicy,
    runtimeClasses: [],
    featureGates: defaultFeatureGates,
    selinuxEnabled: false,
    capacity: { cpu: '2', memory: '1124Mi', pods: '110' },
    allocatable: { cpu: '2', memory: '1Gi', pods: '110' },
    labels: { 'kubernetes.io/hostname': 'edge1', 'kubernetes.io/os': 'linux' },
    allowedSysctls: sysctlAllowlist('6.1.0', []),
    appArmorEnabled: false,
    containerNode: {
      seccompProfileRoot: join(folder, 'root', 'seccomp'),
      seccompDefault: false,
      thermalThrottlePaths: [],
      resources: makeNodeResources(),
    },
    ...overrides,
  };
}

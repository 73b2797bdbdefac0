import type { TableAdapter } from './table-adapter.ts';
import { admission } from './tables/admission.ts';
import { backoff } from './tables/backoff.ts';
import { cgroupNames } from './tables/cgroup-names.ts';
import { containerGC } from './tables/container-gc.ts';
import { cpuConversion } from './tables/cpu-conversion.ts';
import { cpuManager } from './tables/cpu-manager.ts';
import { cpuSetTable } from './tables/cpuset.ts';
import { criContainerConfig } from './tables/cri-container-config.ts';
import { criLogLine } from './tables/cri-log-line.ts';
import { criSandboxConfig } from './tables/cri-sandbox-config.ts';
import { dns } from './tables/dns.ts';
import { downwardAPIResources } from './tables/downward-api-resources.ts';
import { downwardAPIValues } from './tables/downward-api-values.ts';
import { duration } from './tables/duration.ts';
import { envFile } from './tables/env-file.ts';
import { evictionRank } from './tables/eviction-rank.ts';
import { evictionSync } from './tables/eviction-sync.ts';
import { evictionThresholdsMet } from './tables/eviction-thresholds-met.ts';
import { evictionThresholds } from './tables/eviction-thresholds.ts';
import { expansion } from './tables/expansion.ts';
import { gracePeriods } from './tables/grace-periods.ts';
import { httpProbeRequests } from './tables/http-probe-request.ts';
import { hostsFile } from './tables/hosts-file.ts';
import { imageGC } from './tables/image-gc.ts';
import { imageNames } from './tables/image-names.ts';
import { imagePullPolicy } from './tables/image-pull-policy.ts';
import { logNames } from './tables/log-names.ts';
import { managerConfig } from './tables/manager-config.ts';
import { memoryManager } from './tables/memory-manager.ts';
import { names } from './tables/names.ts';
import { nodeAllocatable } from './tables/node-allocatable.ts';
import { nodeShutdownGroups } from './tables/node-shutdown-groups.ts';
import { oomScoreAdj } from './tables/oom-score-adj.ts';
import { plegEvents } from './tables/pleg-events.ts';
import { podActions } from './tables/pod-actions.ts';
import { podCgroupLimitsTable } from './tables/pod-cgroup-limits.ts';
import { podConfigMerge } from './tables/pod-config-merge.ts';
import { podPhase } from './tables/pod-phase.ts';
import { podStatus } from './tables/pod-status.ts';
import { podWorkers } from './tables/pod-workers.ts';
import { qosCgroupSharesTable } from './tables/qos-cgroup-shares.ts';
import { probeWorker } from './tables/probe-worker.ts';
import { quantityOps } from './tables/quantity-ops.ts';
import { quantity } from './tables/quantity.ts';
import { restartCountFromLogs } from './tables/restart-count-from-logs.ts';
import { sidecarTerminationOrder } from './tables/sidecar-termination-order.ts';
import { sysctl } from './tables/sysctl.ts';
import { terminationMessages } from './tables/termination-message.ts';
import { topologyManager } from './tables/topology-manager.ts';

/** Recorded tables of parts that are not built yet. */
export const tablesToCome: readonly string[] = [];

/** Every table that our code can answer. One that is neither here nor to come is reported, and counts as failed. */
export const tableAdapters: readonly TableAdapter[] = [
  admission,
  backoff,
  cgroupNames,
  containerGC,
  cpuConversion,
  cpuManager,
  cpuSetTable,
  criContainerConfig,
  criLogLine,
  criSandboxConfig,
  dns,
  downwardAPIResources,
  downwardAPIValues,
  duration,
  envFile,
  evictionRank,
  evictionSync,
  evictionThresholdsMet,
  evictionThresholds,
  expansion,
  gracePeriods,
  hostsFile,
  httpProbeRequests,
  imageGC,
  imageNames,
  imagePullPolicy,
  logNames,
  managerConfig,
  memoryManager,
  names,
  nodeAllocatable,
  nodeShutdownGroups,
  oomScoreAdj,
  plegEvents,
  podActions,
  podCgroupLimitsTable,
  podConfigMerge,
  podPhase,
  podStatus,
  podWorkers,
  qosCgroupSharesTable,
  probeWorker,
  quantityOps,
  quantity,
  restartCountFromLogs,
  sidecarTerminationOrder,
  sysctl,
  terminationMessages,
  topologyManager,
];

import type { MeasuredCgroup } from './measured-cgroups.ts';
import type { PodStats, Summary, VolumeStats } from './summary.ts';

/**
 * Statistics of the node and its pods. All callers share the samples. Nothing is sampled while nobody calls. kubelet:
 * server/stats/summary.go SummaryProvider
 */
export interface StatsProvider {
  /**
   * Resolves with the newest sample if it is at most `maxAgeMs` old, or else with a new one. With 0, the sample begins
   * now and reads everything. Otherwise, the memory of a cgroup that used no CPU may be a minute old. Values that could
   * not be read are absent. Waits at most a few seconds for a runtime that does not answer. Rejects with the signal's
   * reason.
   */
  summary(request: SummaryRequest): Promise<Summary>;
  /** Takes a new sample of the node, without pods. It is not shared, and much cheaper. */
  nodeSummary(signal: AbortSignal): Promise<Summary>;
  /**
   * Resolves with every cgroup of the node and its pods in full detail, at most `maxAgeMs` old. Reads extra files that
   * the other statistics do not need. Empty on a machine without cgroups.
   */
  cgroups(request: { maxAgeMs: number }): Promise<readonly MeasuredCgroup[]>;
  /** Resolves with the usage of container logs and claim volumes, as last measured. Takes no sample. */
  diskUsage(): Promise<DiskUsage>;
}

export interface DiskUsage {
  logs: LogUsage[];
  /** One entry for each volume of a claim. Pods that share a claim have one entry each. */
  claims: VolumeStats[];
}

/** How much disk the logs of all instances of a container use. */
export interface LogUsage {
  pod: PodStats['podRef'];
  container: string;
  usedBytes: number;
}

export interface SummaryRequest {
  maxAgeMs: number;
  /** True if only these values of the node, pods and containers are needed. This takes less time. */
  cpuAndMemoryOnly?: boolean;
  signal?: AbortSignal;
}

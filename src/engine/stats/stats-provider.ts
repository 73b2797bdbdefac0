import type { MeasuredCgroup } from './measured-cgroups.ts';
import type { PodStats, Summary, VolumeStats } from './summary.ts';

/**
 * Statistics of the node and its pods. All users share the samples. Nothing is sampled while nobody asks.
 * kubelet: server/stats/summary.go SummaryProvider
 */
export interface StatsProvider {
  /**
   * The newest sample if it is at most `maxAgeMs` old, or else a new one. 0 asks for one that begins now and reads
   * everything. Else the memory of a cgroup that used no CPU may be a minute old. Figures that could not be read are
   * absent. Waits at most some seconds for a runtime that does not answer. Rejects with the
   * signal's reason.
   */
  summary(request: SummaryRequest): Promise<Summary>;
  /** A new sample of the node, without pods. It is not shared, and takes a small part of the time. */
  nodeSummary(signal: AbortSignal): Promise<Summary>;
  /**
   * Every cgroup of the node and its pods in all detail, at most `maxAgeMs` old. Takes files of its own, so that no
   * other user of the statistics pays for them. Empty on a machine without cgroups.
   */
  cgroups(request: { maxAgeMs: number }): Promise<readonly MeasuredCgroup[]>;
  /** Logs of containers, and volumes of claims, as they were last measured. Takes no sample. */
  diskUsage(): Promise<DiskUsage>;
}

export interface DiskUsage {
  logs: LogUsage[];
  /** One for each volume of a claim. Pods that share a claim have one each. */
  claims: VolumeStats[];
}

/** What the logs of all runs of a container take. */
export interface LogUsage {
  pod: PodStats['podRef'];
  container: string;
  usedBytes: number;
}

export interface SummaryRequest {
  maxAgeMs: number;
  /** Only these figures of the node, pods and containers are needed. This takes less time. */
  cpuAndMemoryOnly?: boolean;
  signal?: AbortSignal;
}

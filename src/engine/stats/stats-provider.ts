import type { PodStats, Summary } from './summary.ts';

/**
 * Statistics of the node and its pods. All users share the samples. Nothing is sampled while nobody asks.
 * kubelet: server/stats/summary.go SummaryProvider
 */
export interface StatsProvider {
  /**
   * The newest sample if it is at most `maxAgeMs` old, or else a new one. 0 asks for one that begins now. Figures that
   * could not be read are absent. Waits at most some seconds for a runtime that does not answer. Rejects with the
   * signal's reason.
   */
  summary(request: SummaryRequest): Promise<Summary>;
  /** A new sample of the node, without pods. It is not shared, and takes a small part of the time. */
  nodeSummary(signal: AbortSignal): Promise<Summary>;
  /** The logs of containers as they were last measured. Takes no sample. */
  logUsage(): Promise<LogUsage[]>;
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

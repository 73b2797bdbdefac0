import type { Summary } from './summary.ts';

/**
 * Statistics of the node and its pods. All users share one sample at a time: nothing is sampled while nobody asks or
 * subscribes. kubelet: server/stats/summary.go SummaryProvider
 */
export interface StatsProvider {
  /**
   * The newest sample if it is at most `maxAgeMs` old, or else a new one. 0 asks for one that begins now. Figures that
   * could not be read are absent. Rejects with the signal's reason, or if the node itself cannot be read. Never waits
   * for a container runtime longer than some seconds.
   */
  summary(request: SummaryRequest): Promise<Summary>;
  /**
   * Samples regularly until the returned function is called, and calls `onSample` after each sample. Several
   * subscribers share the samples of the shortest period.
   */
  subscribe(subscription: StatsSubscription): () => void;
}

export interface SummaryRequest {
  maxAgeMs: number;
  signal?: AbortSignal;
}

export interface StatsSubscription {
  periodMs: number;
  /** Must not throw. */
  onSample: (summary: Summary) => void;
}

import { isCausedByUnavailable } from '../../cri/errors.ts';
import { NetworkNotReadyError, SyncPodError } from './sync-pod-error.ts';

/**
 * Delays after a failed sync. Jitter makes them up to `jitterFactor` longer. kubelet: pod_workers.go
 * workerBackOffPeriodJitterFactor
 */
export const backOffPeriodMs = 10_000;
/** Delay after a failure because the runtime did not answer. */
export const transientBackOffMs = 1000;
const jitterFactor = 0.5;

interface SyncDelays {
  /** Period between syncs of an unchanged pod. */
  syncFrequencyMs: number;
  /** Uniform in [0, 1). */
  random: () => number;
}

/** Milliseconds until the next sync of a pod, by the error of its last sync. kubelet: pod_workers.go completeWork */
export function nextSyncDelay(error: unknown, { syncFrequencyMs, random }: SyncDelays): number {
  if (error === undefined) return jittered(syncFrequencyMs, random);
  if (error instanceof NetworkNotReadyError || isCausedByUnavailable(error))
    return jittered(transientBackOffMs, random);
  const backOffMs = jittered(backOffPeriodMs, random);
  return error instanceof SyncPodError ? Math.min(backOffMs, error.retryAfterMs ?? Infinity) : backOffMs;
}

export function jittered(ms: number, random: () => number): number {
  return ms * (1 + random() * jitterFactor);
}

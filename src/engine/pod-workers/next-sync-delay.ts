import { isCausedByUnavailable } from '../../cri/errors.ts';
import { NetworkNotReadyError, SyncPodError } from './sync-pod-error.ts';

/** kubelet: pod_workers.go workerBackOffPeriodJitterFactor and neighbours; factors are how much longer it may get. */
export const backOffPeriodMs = 10_000;
/** After what fails because nobody answered. */
export const transientBackOffMs = 1000;
const jitterFactor = 0.5;

interface SyncDelays {
  /** How often a pod that does not change is synced. */
  syncFrequencyMs: number;
  /** Uniform in [0, 1). */
  random: () => number;
}

/** Milliseconds until a pod is synced again of which a sync ended so, `undefined`: well. kubelet: pod_workers.go completeWork */
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

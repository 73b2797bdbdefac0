import { isCausedByUnavailable } from '../../cri/errors.ts';
import { NetworkNotReadyError, SyncPodError } from './sync-pod-error.ts';

/**
 * Delays after a failed sync. Jitter makes them up to `jitterFactor` longer. kubelet: pod_workers.go
 * workerBackOffPeriodJitterFactor
 */
export const backOffPeriodMs = 10_000;
/** Delay after a failure caused by a runtime that did not answer. */
export const transientBackOffMs = 1000;
const jitterFactor = 0.5;
/**
 * Unchanged pods are synced in rounds, several at a time, because waking up costs more than the sync. A period has at
 * least this many rounds.
 */
const roundsAPeriod = 3;
const maxRoundMs = 20_000;

interface SyncDelays {
  /** Period between syncs of an unchanged pod. */
  syncFrequencyMs: number;
  /** Uniform in [0, 1). */
  random: () => number;
  nowMonotonic: number;
}

/**
 * Milliseconds until the next sync of a pod, depending on the error of its last sync. kubelet: pod_workers.go
 * completeWork
 */
export function nextSyncDelay(error: unknown, delays: SyncDelays): number {
  const { random } = delays;
  if (error === undefined) return untilRound(delays);
  if (error instanceof NetworkNotReadyError || isCausedByUnavailable(error))
    return jittered(transientBackOffMs, random);
  const backOffMs = jittered(backOffPeriodMs, random);
  return error instanceof SyncPodError ? Math.min(backOffMs, error.retryAfterMs ?? Infinity) : backOffMs;
}

/** The delay to the last round between one period and its jittered length. */
function untilRound({ syncFrequencyMs, random, nowMonotonic }: SyncDelays): number {
  const roundMs = Math.min(maxRoundMs, syncFrequencyMs / roundsAPeriod);
  const latest = nowMonotonic + jittered(syncFrequencyMs, random);
  const delayMs = Math.floor(latest / roundMs) * roundMs - nowMonotonic;
  return delayMs < syncFrequencyMs ? delayMs + roundMs : delayMs;
}

export function jittered(ms: number, random: () => number): number {
  return ms * (1 + random() * jitterFactor);
}

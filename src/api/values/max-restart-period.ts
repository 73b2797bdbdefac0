import { parseDuration } from './duration.ts';
import type { Pod } from '../types.ts';
import { type FieldError, FieldErrors } from './field-errors.ts';

/** The longest wait before a container of the pod is restarted, as Go writes a duration. */
const annotation = 'kubelet-ts.io/max-restart-period';

/**
 * The kubelet's minimum for its node-wide setting. kubelet: apis/config/validation/validation.go
 * validateCrashLoopBackOff
 */
const shortestMs = 1000;
const longestMs = 300_000;

/** The longest wait in milliseconds. Returns undefined if the node's setting applies. */
export function maxRestartPeriodMs({ metadata }: Pod): number | undefined {
  const nanoseconds = parseDuration(metadata.annotations?.[annotation]?.trim() ?? '');
  return nanoseconds === undefined ? undefined : Number(nanoseconds / 1_000_000n);
}

/** Errors in the annotation of a pod. */
export function validateMaxRestartPeriod(pod: Pod): FieldError[] {
  const errors = new FieldErrors();
  const text = pod.metadata.annotations?.[annotation];
  const ms = maxRestartPeriodMs(pod) ?? 0;
  if (text !== undefined && (ms < shortestMs || ms > longestMs)) {
    const message = 'must be a duration between 1s and 300s, inclusive';
    errors.invalid(`metadata.annotations[${annotation}]`, text, message, 'Such as "30s".');
  }
  return errors.list;
}

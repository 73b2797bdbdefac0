import type { Pod } from '../types.ts';
import { type FieldError, FieldErrors } from './field-errors.ts';

/** Which changes of running pods the node applies in place. */
export interface InPlacePolicy {
  /** False if every change replaces the pod, as in the kubelet. */
  isEnabled: boolean;
  /** True if a resource manager gives dedicated processors or memory to Guaranteed pods. */
  isPinning: boolean;
}

export const defaultInPlacePolicy: InPlacePolicy = { isEnabled: true, isPinning: false };

/** `"false"`: every change of the manifest replaces the pod. `"true"` is the default. */
const annotation = 'kubelet-ts.io/in-place';

/** True unless the pod's annotation opts out of changes in place. */
export function mayChangeInPlace({ metadata }: Pod): boolean {
  return metadata.annotations?.[annotation] !== 'false';
}

/** Errors in the annotation of a pod. */
export function validateInPlace({ metadata }: Pod): FieldError[] {
  const errors = new FieldErrors();
  const text = metadata.annotations?.[annotation];
  if (text !== undefined && text !== 'true' && text !== 'false') {
    const message = 'must be "true" or "false"';
    errors.invalid(
      `metadata.annotations[${annotation}]`,
      text,
      message,
      'Write "false" to have changes replace the pod.',
    );
  }
  return errors.list;
}

import { errorMessage } from '../../../errors.ts';

/**
 * Rejection by a resource manager. It becomes the reason and the message of the pod. kubelet:
 * util/admission/admission.go Error
 */
export class AllocationError extends Error {
  override readonly name = 'AllocationError';
  /** For example `SMTAlignmentError`. */
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Result of the admission, with the reason of a rejection. kubelet: util/admission/admission.go GetPodAdmitResult */
export type AllocationResult = { admit: true } | { admit: false; reason: string; message: string };

/** kubelet: util/admission/admission.go GetPodAdmitResult */
export function refused(error: unknown): AllocationResult {
  if (error instanceof AllocationError) return { admit: false, reason: error.reason, message: error.message };
  const message = `Allocate failed due to ${errorMessage(error)}, which is unexpected`;
  return { admit: false, reason: 'UnexpectedAdmissionError', message };
}

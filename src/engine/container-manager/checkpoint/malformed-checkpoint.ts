import { errorMessage } from '../../../errors.ts';

/**
 * The state file of a resource manager is not as it was written: no JSON, another checksum, or lists that cannot be
 * read. The agent sets such a file aside; the kubelet does not start.
 */
export class MalformedCheckpoint extends Error {
  override readonly name = 'MalformedCheckpoint';
}

/** The kubelet's error for a state file that a manager does not accept. */
export function restoreError(cause: unknown, manager: 'CPU' | 'memory', path: string): Error {
  const remedy = `please drain this node and delete the ${manager} manager checkpoint file "${path}" before restarting Kubelet`;
  const message = `could not restore state from checkpoint: ${errorMessage(cause)}, ${remedy}`;
  return cause instanceof MalformedCheckpoint
    ? new MalformedCheckpoint(message, { cause })
    : new Error(message, { cause });
}

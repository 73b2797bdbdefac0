import { errorMessage } from '../../../errors.ts';

/**
 * The state file of a resource manager cannot be used, though the settings are the same: it is not as it was written,
 * contradicts itself, or is of another machine. The agent sets such a file aside; the kubelet does not start.
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

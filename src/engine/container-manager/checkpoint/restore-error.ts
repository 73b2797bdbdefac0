import { errorMessage } from '../../../errors.ts';

/** Returns the kubelet's error for a state file that a manager rejects. */
export function restoreError(cause: unknown, manager: 'CPU' | 'memory', path: string): Error {
  const file = `the ${manager} manager checkpoint file "${path}"`;
  const remedy = `please drain this node and delete ${file} before restarting Kubelet`;
  return new Error(`could not restore state from checkpoint: ${errorMessage(cause)}, ${remedy}`, { cause });
}

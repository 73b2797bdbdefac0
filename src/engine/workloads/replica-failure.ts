import { reasons } from '../view/reasons.ts';
import type { WorkloadCondition } from '../view/snapshot.ts';

/** Why a pod of a workload cannot run. */
export interface ReplicaFailure {
  /** Its name without that of the node. */
  name: string;
  reason: string;
  message: string;
}

/** `owner` is what has the name, as the subject of a sentence. */
export function nameTaken(name: string, owner: string): ReplicaFailure {
  return { name, reason: reasons.nameTaken, message: `${owner} has this name` };
}

/** Returns a condition that names the pods that cannot run and why, once for pods with the same reason. */
export function replicaFailures(failures: readonly ReplicaFailure[]): WorkloadCondition[] {
  const [first] = failures;
  if (first === undefined) return [];
  const named = new Map<string, string[]>();
  for (const { name, message } of failures) named.set(message, [...(named.get(message) ?? []), name]);
  const message = [...named].map(([why, names]) => `${names.join(', ')}: ${why}`).join('; ');
  return [{ type: 'ReplicaFailure', status: 'True', reason: first.reason, message }];
}

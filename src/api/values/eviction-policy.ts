import type { Pod } from '../types.ts';
import { isCriticalPod } from './critical-pod.ts';
import { podPriority, systemCriticalPriority } from './pod-priority.ts';

/**
 * Which pods the node may evict. `kubelet`: pods that are neither static nor critical. `byPriority`: all pods below the
 * priority of critical pods.
 */
export const evictionPolicies = ['kubelet', 'byPriority'] as const;
export type EvictionPolicy = (typeof evictionPolicies)[number];

export function isEvictable(pod: Pod, policy: EvictionPolicy): boolean {
  return policy === 'kubelet' ? !isCriticalPod(pod) : podPriority(pod) < systemCriticalPriority;
}

import type { Pod } from '../types.ts';
import { isStaticPod } from './config-annotations.ts';
import { systemCriticalPriority } from './pod-priority.ts';

/** True for static pods and pods of system priority. kubelet: types/pod_update.go IsCriticalPod */
export function isCriticalPod({ metadata, spec }: Pick<Pod, 'metadata' | 'spec'>): boolean {
  const annotations = metadata.annotations ?? {};
  return isStaticPod({ metadata }) || 'kubernetes.io/config.mirror' in annotations || hasSystemPriority({ spec });
}

/** True for the priority of pods that a cluster cannot run without. */
export function hasSystemPriority({ spec }: Pick<Pod, 'spec'>): boolean {
  return (spec.priority ?? 0) >= systemCriticalPriority;
}

/** kubelet: types/pod_update.go IsNodeCriticalPod */
export function isNodeCriticalPod(pod: Pod): boolean {
  return isCriticalPod(pod) && pod.spec.priorityClassName === 'system-node-critical';
}

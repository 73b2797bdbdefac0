import type { EvictionPolicy } from '../../api/values/eviction-policy.ts';
import type { EvictionThreshold } from '../../api/values/eviction-thresholds.ts';

/** When pods are evicted, and how. kubelet: eviction/types.go Config */
export interface EvictionConfig {
  thresholds: readonly EvictionThreshold[];
  /** How long a condition lasts after its cause was last seen. kubelet: evictionPressureTransitionPeriod */
  pressureTransitionMs: number;
  /** Longest grace period of a pod that a soft threshold evicts. kubelet: evictionMaxPodGracePeriod */
  maxPodGracePeriodSeconds: number;
  policy: EvictionPolicy;
}

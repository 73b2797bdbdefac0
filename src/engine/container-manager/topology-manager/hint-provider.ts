import type { Container, Pod } from '../../../api/types.ts';
import type { ResourceHints } from './topology-hint.ts';

/** A resource manager, as the topology manager uses it. kubelet: topologymanager/topology_manager.go HintProvider */
export interface HintProvider {
  /** Hints for one container. Undefined or empty: it has no preference. Changes nothing. */
  hints(pod: Pod, container: Container): ResourceHints | undefined;
  /** Hints for the whole pod. Undefined or empty: it has no preference. Changes nothing. */
  podHints(pod: Pod): ResourceHints | undefined;
  /**
   * Allocates for one container, within the affinity of the container. Throws an `AllocationError`, or an `Error` if
   * the kubelet's error has no reason of its own.
   */
  allocate(pod: Pod, container: Container): void;
  /** Allocates what needs a plugin. Not called for a pod that runs. Rejects as `allocate` throws. */
  allocateByPlugin?(pod: Pod, container: Container): Promise<void>;
}

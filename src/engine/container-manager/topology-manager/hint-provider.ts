import type { Container, Pod } from '../../../api/types.ts';
import type { ResourceHints } from './topology-hint.ts';

/** A resource manager, as the topology manager uses it. kubelet: topologymanager/topology_manager.go HintProvider */
export interface HintProvider {
  /** Hints for one container. Undefined or empty means no preference. Has no side effects. */
  hints(pod: Pod, container: Container): ResourceHints | undefined;
  /** Hints for the whole pod. Undefined or empty means no preference. Has no side effects. */
  podHints(pod: Pod): ResourceHints | undefined;
  /**
   * Allocates for one container within its affinity. Throws an `AllocationError`, or an `Error` if the kubelet's error
   * has no specific reason.
   */
  allocate(pod: Pod, container: Container): void;
  /**
   * Allocates resources that need a plugin. Not called for a running pod. Rejects with the errors that `allocate`
   * throws.
   */
  allocateByPlugin?(pod: Pod, container: Container): Promise<void>;
}

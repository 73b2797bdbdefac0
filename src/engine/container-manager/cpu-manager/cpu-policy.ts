import type { Container, Pod } from '../../../api/types.ts';
import { CPUSet } from '../cpu-topology/cpu-set.ts';
import type { ResourceHints } from '../topology-manager/topology-hint.ts';
import type { CPUAssignments } from './cpu-assignments.ts';
import { optionsText } from './static-policy-options.ts';

/** Decides which CPUs a container runs on. kubelet: cpumanager/policy.go */
export interface CPUPolicy {
  readonly name: 'none' | 'static';
  /** CPUs that containers can have exclusively. */
  readonly allocatable: CPUSet;
  /**
   * Throws an `Error` with the kubelet's message if the assignments are inconsistent, or do not fit the machine or the
   * settings.
   */
  start(assignments: CPUAssignments): void;
  hints(assignments: CPUAssignments, pod: Pod, container: Container): ResourceHints | undefined;
  podHints(assignments: CPUAssignments, pod: Pod): ResourceHints | undefined;
  /** Throws an `AllocationError`, or an `Error` if the kubelet's error has no specific reason. */
  allocate(assignments: CPUAssignments, pod: Pod, container: Container): void;
}

/**
 * The policy under which every container runs on all CPUs. Throws an `Error` if there are options. kubelet:
 * cpumanager/policy_none.go
 */
export function nonePolicy(options: Readonly<Record<string, string>>): CPUPolicy {
  if (Object.keys(options).length > 0) {
    throw new Error(`None policy: received unsupported options=${optionsText(options)}`);
  }
  return {
    name: 'none',
    allocatable: CPUSet.empty,
    start: () => undefined,
    hints: () => undefined,
    podHints: () => undefined,
    allocate: () => undefined,
  };
}

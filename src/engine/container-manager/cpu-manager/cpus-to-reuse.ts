import type { Container, Pod } from '../../../api/types.ts';
import { isRegularInit } from '../../../api/values/sidecars.ts';
import { CPUSet } from '../cpu-topology/cpu-set.ts';

/**
 * CPUs that the init containers of a pod leave to its later containers. They are kept apart from the assignments: they
 * outlive the init container and the pod, until another pod is given CPUs. kubelet: cpumanager/policy_static.go
 * cpusToReuse
 */
export class CPUsToReuse {
  /** Undefined before the first allocation. */
  private last: { podUID: string; cpus: CPUSet } | undefined;

  of({ metadata }: Pod): CPUSet {
    return this.last?.podUID === metadata.uid ? this.last.cpus : CPUSet.empty;
  }

  /**
   * Called when a container was given CPUs, and when it is allocated again. Other pods lose theirs. kubelet:
   * policy_static.go updateCPUsToReuse
   */
  update(pod: Pod, container: Container, cpus: CPUSet): void {
    const before = this.of(pod);
    const after = isRegularInit(pod.spec, container.name) ? before.union(cpus) : before.difference(cpus);
    this.last = { podUID: pod.metadata.uid, cpus: after };
  }
}

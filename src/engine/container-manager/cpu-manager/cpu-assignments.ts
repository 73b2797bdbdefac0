import { explained } from '../../../errors.ts';
import { CPUSet } from '../cpu-topology/cpu-set.ts';
import type { StateFile } from '../checkpoint/state-file.ts';
import { type CPUCheckpoint, type FindContainer, formatCPUCheckpoint, parseCPUCheckpoint } from './cpu-checkpoint.ts';

/** An assignment of CPUs to a container. */
export interface Assignment {
  podUID: string;
  containerName: string;
  cpus: CPUSet;
}

/**
 * The CPUs that containers have for themselves, and those that the others share, on disk and in memory. kubelet:
 * cpumanager/state/state_checkpoint.go
 *
 * INVARIANT: each change is written as a whole, so that a crash leaves no CPU without an owner or with two.
 */
export class CPUAssignments {
  private readonly byPod: Map<string, Map<string, CPUSet>>;
  private sharedCPUs: CPUSet;

  /**
   * Reads the file, or makes it if it is missing. Throws an `Error` with the kubelet's message if it is malformed or
   * of another policy.
   */
  constructor(
    private readonly file: StateFile,
    private readonly policyName: string,
    findContainer: FindContainer,
  ) {
    if (file.content === undefined) {
      this.byPod = new Map();
      this.sharedCPUs = CPUSet.empty;
      this.write();
      return;
    }
    const { defaultCPUSet, entries } = checkPolicy(parseCPUCheckpoint(file.content, findContainer), policyName);
    const parsed = (text: string, what: string): CPUSet => explained(what, () => CPUSet.parse(text));
    this.sharedCPUs = parsed(defaultCPUSet, `could not parse default cpu set "${defaultCPUSet}"`);
    this.byPod = new Map(
      [...entries].map(([uid, ofPod]) => {
        const what = (cpus: string, name: string): string =>
          `could not parse cpuset "${cpus}" for container "${name}" in pod "${uid}"`;
        return [uid, new Map([...ofPod].map(([name, cpus]) => [name, parsed(cpus, what(cpus, name))]))];
      }),
    );
  }

  /** CPUs of all containers that have none for themselves. */
  get shared(): CPUSet {
    return this.sharedCPUs;
  }

  /** Counts the pods of a file that have no container too. */
  get podCount(): number {
    return this.byPod.size;
  }

  get all(): Assignment[] {
    return [...this.byPod].flatMap(([podUID, ofPod]) =>
      [...ofPod].map(([containerName, cpus]) => ({ podUID, containerName, cpus })),
    );
  }

  /** CPUs that only this container has, or the pod's other containers too. Returns undefined if it has none. */
  exclusive(podUID: string, containerName: string): CPUSet | undefined {
    return this.byPod.get(podUID)?.get(containerName);
  }

  /** Its own CPUs, else the shared ones. */
  effective(podUID: string, containerName: string): CPUSet {
    return this.exclusive(podUID, containerName) ?? this.shared;
  }

  share(cpus: CPUSet): void {
    this.sharedCPUs = cpus;
    this.write();
  }

  /** The CPUs are no longer shared. */
  assign({ podUID, containerName, cpus }: Assignment): void {
    const ofPod = this.byPod.get(podUID) ?? new Map<string, CPUSet>();
    this.byPod.set(podUID, ofPod.set(containerName, cpus));
    this.sharedCPUs = this.sharedCPUs.difference(cpus);
    this.write();
  }

  /** The container's CPUs are shared again, but those that other containers of its pod have too. */
  release(podUID: string, containerName: string): void {
    const ofPod = this.byPod.get(podUID);
    const cpus = ofPod?.get(containerName);
    if (ofPod === undefined || cpus === undefined) return;
    ofPod.delete(containerName);
    if (ofPod.size === 0) this.byPod.delete(podUID);
    this.sharedCPUs = this.sharedCPUs.union(cpus.difference(CPUSet.empty.union(...ofPod.values())));
    this.write();
  }

  private write(): void {
    const entries = [...this.byPod].map(([uid, ofPod]) => [uid, textsOf(ofPod)] as const);
    this.file.write(
      formatCPUCheckpoint({
        policyName: this.policyName,
        defaultCPUSet: this.shared.toString(),
        entries: new Map(entries),
      }),
    );
  }
}

function textsOf(ofPod: ReadonlyMap<string, CPUSet>): Map<string, string> {
  return new Map([...ofPod].map(([name, cpus]) => [name, cpus.toString()]));
}

function checkPolicy(checkpoint: CPUCheckpoint, policyName: string): CPUCheckpoint {
  if (checkpoint.policyName === policyName) return checkpoint;
  throw new Error(`configured policy "${policyName}" differs from state checkpoint policy "${checkpoint.policyName}"`);
}

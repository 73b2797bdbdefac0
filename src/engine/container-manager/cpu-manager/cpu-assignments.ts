import { explained } from '../../../errors.ts';
import { CPUSet } from '../cpu-topology/cpu-set.ts';
import type { StateFile } from '../checkpoint/state-file.ts';
import { type CPUCheckpoint, type FindContainer, formatCPUCheckpoint, parseCPUCheckpoint } from './cpu-checkpoint.ts';

/** The CPUs assigned to a container. */
export interface Assignment {
  podUID: string;
  containerName: string;
  cpus: CPUSet;
}

/**
 * The exclusive CPUs of containers and the shared CPUs of all other containers, in memory and on disk. kubelet:
 * cpumanager/state/state_checkpoint.go
 *
 * INVARIANT: each change is written completely, so a crash leaves no CPU with zero or two owners.
 */
export class CPUAssignments {
  private readonly byPod: Map<string, Map<string, CPUSet>>;
  private sharedCPUs: CPUSet;

  /**
   * Reads the file, or creates it if it is missing. Throws an `Error` with the kubelet's message if the file is
   * malformed or written by another policy.
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

  /** CPUs of all containers without exclusive CPUs. */
  get shared(): CPUSet {
    return this.sharedCPUs;
  }

  /** Also counts pods in the file that have no container. */
  get podCount(): number {
    return this.byPod.size;
  }

  get all(): Assignment[] {
    return [...this.byPod].flatMap(([podUID, ofPod]) =>
      [...ofPod].map(([containerName, cpus]) => ({ podUID, containerName, cpus })),
    );
  }

  /**
   * The exclusive CPUs of a container, which other containers of its pod may share. Returns undefined if it has none.
   */
  exclusive(podUID: string, containerName: string): CPUSet | undefined {
    return this.byPod.get(podUID)?.get(containerName);
  }

  /** The exclusive CPUs of the container, or else the shared CPUs. */
  effective(podUID: string, containerName: string): CPUSet {
    return this.exclusive(podUID, containerName) ?? this.shared;
  }

  share(cpus: CPUSet): void {
    this.sharedCPUs = cpus;
    this.write();
  }

  /** Assigns the CPUs and removes them from the shared ones. */
  assign({ podUID, containerName, cpus }: Assignment): void {
    const ofPod = this.byPod.get(podUID) ?? new Map<string, CPUSet>();
    this.byPod.set(podUID, ofPod.set(containerName, cpus));
    this.sharedCPUs = this.sharedCPUs.difference(cpus);
    this.write();
  }

  /** Returns the container's CPUs to the shared ones, except those that other containers of its pod also have. */
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

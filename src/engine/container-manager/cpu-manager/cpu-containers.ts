import type { CPUSet } from '../cpu-topology/cpu-set.ts';

/** A container of a pod, across restarts. */
export interface ContainerRef {
  podUID: string;
  containerName: string;
}

interface Known extends ContainerRef {
  /** Ids in the runtime, newest last. */
  ids: string[];
  /** CPUs of its newest instance. Undefined if this agent did not set them. */
  cpus: CPUSet | undefined;
}

/** Maximum number of ids kept per container, because a container may restart without end. */
const maxIDs = 8;

/** Finds containers by id, and records the CPUs that each has in the runtime. kubelet: containermap, lastUpdateState */
export class CPUContainers {
  private readonly known = new Map<string, Known>();

  get all(): ContainerRef[] {
    return [...this.known.values()];
  }

  add(container: ContainerRef, containerID: string): void {
    const known = this.of(container);
    if (known.ids.at(-1) === containerID) return;
    known.ids = [...known.ids.filter((id) => id !== containerID), containerID].slice(-maxIDs);
  }

  find(containerID: string): ContainerRef | undefined {
    return [...this.known.values()].find(({ ids }) => ids.includes(containerID));
  }

  cpusOf(container: ContainerRef): CPUSet | undefined {
    return this.known.get(keyOf(container))?.cpus;
  }

  setCPUs(container: ContainerRef, cpus: CPUSet): void {
    this.of(container).cpus = cpus;
  }

  clearCPUs(container: ContainerRef): void {
    this.of(container).cpus = undefined;
  }

  remove(container: ContainerRef): void {
    this.known.delete(keyOf(container));
  }

  /** Removes one id and the CPUs. The container is still found by its other ids. */
  removeID(containerID: string): void {
    const container = this.find(containerID);
    if (container === undefined) return;
    const known = this.of(container);
    known.ids = known.ids.filter((id) => id !== containerID);
    known.cpus = undefined;
    if (known.ids.length === 0) this.remove(container);
  }

  private of({ podUID, containerName }: ContainerRef): Known {
    const key = keyOf({ podUID, containerName });
    const known = this.known.get(key) ?? { podUID, containerName, ids: [], cpus: undefined };
    this.known.set(key, known);
    return known;
  }
}

const keyOf = ({ podUID, containerName }: ContainerRef): string => `${podUID}/${containerName}`;

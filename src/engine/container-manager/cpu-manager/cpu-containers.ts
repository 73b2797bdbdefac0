import type { CPUSet } from '../cpu-topology/cpu-set.ts';

/** A container of a pod, over all its runs. */
export interface ContainerRef {
  podUID: string;
  containerName: string;
}

interface Known extends ContainerRef {
  /** In the runtime, the newest last. */
  ids: string[];
  /** CPUs of its newest run. Undefined if this agent did not set them. */
  cpus: CPUSet | undefined;
}

/** Ids of earlier runs that are kept. A container that always restarts would have more and more. */
const maxIDs = 8;

/** Containers by their ids, and the CPUs that each has in the runtime. kubelet: containermap, lastUpdateState */
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

  forgetCPUs(container: ContainerRef): void {
    this.of(container).cpus = undefined;
  }

  forget(container: ContainerRef): void {
    this.known.delete(keyOf(container));
  }

  /** Forgets one run, and the CPUs. The container is still found by its other ids. */
  forgetID(containerID: string): void {
    const container = this.find(containerID);
    if (container === undefined) return;
    const known = this.of(container);
    known.ids = known.ids.filter((id) => id !== containerID);
    known.cpus = undefined;
    if (known.ids.length === 0) this.forget(container);
  }

  private of({ podUID, containerName }: ContainerRef): Known {
    const key = keyOf({ podUID, containerName });
    const known = this.known.get(key) ?? { podUID, containerName, ids: [], cpus: undefined };
    this.known.set(key, known);
    return known;
  }
}

const keyOf = ({ podUID, containerName }: ContainerRef): string => `${podUID}/${containerName}`;

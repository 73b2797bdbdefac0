interface ContainerRef {
  podUID: string;
  containerName: string;
}

/** Containers of pods by their id in the runtime. kubelet: cm/containermap/container_map.go */
export class ContainerMap {
  private readonly refs = new Map<string, ContainerRef>();

  add(podUID: string, containerName: string, containerID: string): void {
    this.refs.set(containerID, { podUID, containerName });
  }

  /** Removes the container. Returns its pod and name, or undefined if it is unknown. */
  remove(containerID: string): ContainerRef | undefined {
    const ref = this.refs.get(containerID);
    this.refs.delete(containerID);
    return ref;
  }

  /** Removes all containers with this name in the pod. */
  removeAll(podUID: string, containerName: string): void {
    this.retain((ref) => ref.podUID !== podUID || ref.containerName !== containerName);
  }

  /** Removes all other containers. */
  retain(isKept: (ref: Readonly<ContainerRef>) => boolean): void {
    for (const [id, ref] of this.refs) if (!isKept(ref)) this.refs.delete(id);
  }

  /** True if the pod has a container of this name. */
  has(podUID: string, containerName: string): boolean {
    return [...this.refs.values()].some((ref) => ref.podUID === podUID && ref.containerName === containerName);
  }
}

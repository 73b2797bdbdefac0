import type { ContainerAllocateResponse } from '../../../plugins/types.ts';

/** Devices of one resource allocated to a container. */
export interface Allocation {
  /**
   * Ids by NUMA node. A device with several nodes is listed under each, a device without nodes under
   * `nodeWithoutTopology`.
   */
  idsByNode: ReadonlyMap<number, readonly string[]>;
  /** The plugin's additions to the container. */
  response: ContainerAllocateResponse;
}

export interface PodAllocation extends Allocation {
  podUID: string;
  containerName: string;
  resource: string;
}

/** The devices of all containers. kubelet: devicemanager/pod_devices.go */
export class PodDevices {
  /** By pod, container and resource. */
  private readonly pods = new Map<string, Map<string, Map<string, Allocation>>>();

  get all(): PodAllocation[] {
    return [...this.pods].flatMap(([podUID, containers]) =>
      [...containers].flatMap(([containerName, resources]) =>
        [...resources].map(([resource, allocation]) => ({ podUID, containerName, resource, ...allocation })),
      ),
    );
  }

  get podUIDs(): string[] {
    return [...this.pods.keys()];
  }

  /** Allocations of a container, sorted by resource name. */
  of(podUID: string, containerName: string): [string, Allocation][] {
    const resources = this.pods.get(podUID)?.get(containerName) ?? new Map<string, Allocation>();
    return [...resources].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** Ids of a container's devices. Returns undefined if it has none of this resource. */
  ids(podUID: string, containerName: string, resource: string): Set<string> | undefined {
    const allocation = this.pods.get(podUID)?.get(containerName)?.get(resource);
    return allocation && new Set([...allocation.idsByNode.values()].flat());
  }

  /** Ids of all allocated devices of a resource. */
  idsInUse(resource: string): Set<string> {
    const allocations = this.all.filter((allocation) => allocation.resource === resource);
    return new Set(allocations.flatMap(({ idsByNode }) => [...idsByNode.values()].flat()));
  }

  hasResource(resource: string): boolean {
    return this.all.some((allocation) => allocation.resource === resource);
  }

  add({ podUID, containerName, resource, ...allocation }: PodAllocation): void {
    const containers = this.pods.get(podUID) ?? new Map<string, Map<string, Allocation>>();
    const resources = containers.get(containerName) ?? new Map<string, Allocation>();
    this.pods.set(podUID, containers.set(containerName, resources.set(resource, allocation)));
  }

  remove(podUID: string): void {
    this.pods.delete(podUID);
  }
}

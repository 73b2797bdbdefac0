/** A device as its plugin lists it. */
export interface Device {
  id: string;
  isHealthy: boolean;
  /** NUMA nodes. Empty: none is given. */
  nodes: readonly number[];
}

/** All devices of a resource by id. */
export type Devices = ReadonlyMap<string, Device>;

/** Stands for the nodes of a device that has none. kubelet: devicemanager/manager.go nodeWithoutTopology */
export const nodeWithoutTopology = -1;

/** Ids of the healthy devices. */
export function healthyIds(devices: Devices): string[] {
  return [...devices.values()].filter(({ isHealthy }) => isHealthy).map(({ id }) => id);
}

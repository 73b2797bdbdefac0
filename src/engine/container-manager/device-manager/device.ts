import { type BitMask, bitMask, maxNUMANode } from '../topology-manager/bit-mask.ts';

/** A device as its plugin lists it. */
export interface Device {
  id: string;
  isHealthy: boolean;
  /**
   * NUMA nodes. Empty: none is given. A plugin can give any numbers: most give what sysfs has, which is -1 for a device
   * without a node, as on most virtual machines.
   */
  nodes: readonly number[];
  /** True for a topology without nodes. podresources does not list such a device as allocatable. */
  hasEmptyTopology?: true;
}

/** All devices of a resource by id. */
export type Devices = ReadonlyMap<string, Device>;

/** Stands for the nodes of a device that has none. kubelet: devicemanager/manager.go nodeWithoutTopology */
export const nodeWithoutTopology = -1;

/** The nodes of a device that a mask can have. kubelet: topologymanager/bitmask/bitmask.go AnySet */
export function maskOfNodes({ nodes }: Pick<Device, 'nodes'> = { nodes: [] }): BitMask {
  return bitMask(nodes.filter((node) => node >= 0 && node <= maxNUMANode));
}

/** Ids of the healthy devices. */
export function healthyIds(devices: Devices): string[] {
  return [...devices.values()].filter(({ isHealthy }) => isHealthy).map(({ id }) => id);
}

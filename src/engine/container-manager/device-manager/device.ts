import { type BitMask, bitMask, maxNUMANode } from '../topology-manager/bit-mask.ts';

/** A device as its plugin lists it. */
export interface Device {
  id: string;
  isHealthy: boolean;
  /**
   * NUMA nodes that the plugin reports, in any number. Most plugins report the value of sysfs, which is -1 for a device
   * without a node, as on most virtual machines.
   */
  nodes: readonly number[];
  /** True if the plugin sent a topology without nodes. podresources does not list these devices as allocatable. */
  hasEmptyTopology?: true;
}

/** All devices of a resource by id. */
export type Devices = ReadonlyMap<string, Device>;

/** Placeholder for a device without NUMA nodes. kubelet: devicemanager/manager.go nodeWithoutTopology */
export const nodeWithoutTopology = -1;

/** Mask of the device's nodes that a mask can represent. kubelet: topologymanager/bitmask/bitmask.go AnySet */
export function maskOfNodes({ nodes }: Pick<Device, 'nodes'> = { nodes: [] }): BitMask {
  return bitMask(nodes.filter((node) => node >= 0 && node <= maxNUMANode));
}

/** Ids of the healthy devices. */
export function healthyIds(devices: Devices): string[] {
  return [...devices.values()].filter(({ isHealthy }) => isHealthy).map(({ id }) => id);
}

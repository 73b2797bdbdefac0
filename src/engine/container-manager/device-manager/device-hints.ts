import { type BitMask, countOf, masksOf } from '../topology-manager/bit-mask.ts';
import type { TopologyHint } from '../topology-manager/topology-hint.ts';
import { type Devices, maskOfNodes } from './device.ts';

interface Request {
  /** Number of devices. */
  count: number;
  /** All devices of the resource. */
  devices: Devices;
  /** Ids of the devices that can be allocated. */
  available: Iterable<string>;
  /** Ids of the devices of the pod's init containers. A hint must include all of them. */
  reusable: Iterable<string>;
}

/** True if the plugin reports NUMA nodes for its devices, so that hints make sense. */
export function hasTopology(devices: Devices): boolean {
  return [...devices.values()].some(({ nodes }) => nodes.length > 0);
}

/**
 * Returns every set of NUMA nodes with enough devices for a request. Prefers the sets with the fewest nodes that could
 * hold it if all devices were free. kubelet: devicemanager/topology_hints.go generateDeviceTopologyHints
 */
export function computeDeviceHints(
  numaNodes: readonly number[],
  { count, devices, available, reusable }: Request,
): TopologyHint[] {
  const maskOf = (id: string): BitMask => maskOfNodes(devices.get(id));
  const hasNodes = (id: string): boolean => (devices.get(id)?.nodes.length ?? 0) > 0;
  const all = [...devices.keys()].map(maskOf);
  const reused = [...reusable].filter(hasNodes).map(maskOf);
  const usable = [...available].map(maskOf);
  let fewest = numaNodes.length;
  const affinities: BitMask[] = [];
  for (const mask of masksOf(numaNodes)) {
    const isWithin = (nodes: BitMask): boolean => (nodes & mask) > 0n;
    if (all.filter(isWithin).length >= count) fewest = Math.min(fewest, countOf(mask));
    if (reused.every(isWithin) && reused.length + usable.filter(isWithin).length >= count) affinities.push(mask);
  }
  return affinities.map((affinity) => ({ affinity, preferred: countOf(affinity) === fewest }));
}

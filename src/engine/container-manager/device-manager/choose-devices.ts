import type { BitMask } from '../topology-manager/bit-mask.ts';
import { type Devices, healthyIds, maskOfNodes, nodeWithoutTopology } from './device.ts';
import { hasTopology } from './device-hints.ts';

/** The devices from which a container gets some. */
export interface Choice {
  resource: string;
  /** Number of devices that the container is to have. */
  count: number;
  /** Ids of devices of the pod's init containers, used first. */
  reusable: ReadonlySet<string>;
  /** All devices of the resource. */
  devices: Devices;
  inUse: ReadonlySet<string>;
  /** Nodes that the topology manager chose. Undefined: any. */
  affinity: BitMask | undefined;
}

/** The request for the plugin's preference. */
export interface Preference {
  available: string[];
  mustInclude: string[];
  count: number;
}

/**
 * The request for the plugin before `chooseDevices`. Returns undefined if it has no choice. Throws as `chooseDevices`.
 * kubelet: devicemanager/manager.go devicesToAllocate
 */
export function computePreference(choice: Choice): Preference | undefined {
  const { reused, needed, available, aligned } = split(choice);
  if (needed === 0) return undefined;
  const candidates = needed < aligned.length ? aligned : available;
  // All aligned devices are taken, so the plugin chooses among the others.
  const taken = needed < aligned.length ? reused : [...reused, ...aligned.slice(0, needed)];
  if (taken.length === choice.count) return undefined;
  return { available: [...new Set([...candidates, ...taken])], mustInclude: taken, count: choice.count };
}

/**
 * Ids of the devices for a container: reused ones, then those within the affinity, and among equals those that the
 * plugin prefers. Throws an `Error` with the kubelet's message if there are too few. kubelet: devicemanager/manager.go
 * devicesToAllocate, filterByAffinity
 */
export function chooseDevices(choice: Choice, preferred: readonly string[] = []): string[] {
  const { reused, needed, available, aligned } = split(choice);
  const isAvailable = new Set(available);
  const isAligned = new Set(aligned);
  const wanted = preferred.filter((id) => (needed < aligned.length ? isAligned : isAvailable).has(id));
  const groups = needed < aligned.length ? [wanted, aligned] : [aligned, wanted, available];
  const others = [...new Set(groups.flat())];
  return [...reused, ...others.slice(0, needed)];
}

function split({ resource, count, reusable, devices, inUse, affinity }: Choice) {
  const reused = [...reusable].slice(0, count);
  const needed = count - reused.length;
  const available = healthyIds(devices).filter((id) => !inUse.has(id) && !reused.includes(id));
  if (available.length < needed) {
    const numbers = `Requested: ${needed}, Available: ${available.length}`;
    throw new Error(`requested number of devices unavailable for ${resource}. ${numbers}`);
  }
  const isAligned = (id: string): boolean => (maskOfNodes(devices.get(id)) & (affinity ?? 0n)) > 0n;
  const aligned = affinity === undefined || !hasTopology(devices) ? [] : available.filter(isAligned);
  // Devices with a node elsewhere come before those without any.
  const rest = available.filter((id) => !aligned.includes(id));
  const hasNodes = (id: string): boolean =>
    devices.get(id)?.nodes.some((node) => node !== nodeWithoutTopology) ?? false;
  const ordered = affinity === undefined ? rest : [...rest.filter(hasNodes), ...rest.filter((id) => !hasNodes(id))];
  return { reused, needed, available: [...aligned, ...ordered], aligned };
}

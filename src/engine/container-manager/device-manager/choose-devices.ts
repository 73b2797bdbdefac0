import type { BitMask } from '../topology-manager/bit-mask.ts';
import { type Devices, healthyIds, maskOfNodes, nodeWithoutTopology } from './device.ts';
import { hasTopology } from './device-hints.ts';

/** A request for devices, and the devices to choose from. */
export interface Choice {
  resource: string;
  /** Number of devices that the container requests. */
  count: number;
  /** Ids of devices of the pod's init containers, used first. */
  reusable: ReadonlySet<string>;
  /** All devices of the resource. */
  devices: Devices;
  inUse: ReadonlySet<string>;
  /** Nodes that the topology manager chose. Undefined means any. */
  affinity: BitMask | undefined;
}

/** Request for the plugin's preferred devices. */
export interface Preference {
  available: string[];
  mustInclude: string[];
  count: number;
}

/**
 * Builds the request for the plugin's preference, made before `chooseDevices`. Returns undefined if there is no choice.
 * Throws like `chooseDevices`. kubelet: devicemanager/manager.go devicesToAllocate
 */
export function computePreference(choice: Choice): Preference | undefined {
  const { reused, needed, available, aligned } = split(choice);
  if (needed === 0) return undefined;
  const candidates = needed < aligned.length ? aligned : available;
  // All aligned devices are used, so the plugin chooses among the others.
  const taken = needed < aligned.length ? reused : [...reused, ...aligned.slice(0, needed)];
  if (taken.length === choice.count) return undefined;
  return { available: [...new Set([...candidates, ...taken])], mustInclude: taken, count: choice.count };
}

/**
 * Chooses the devices of a container: reused ones first, then those within the affinity. Among equal devices, those
 * that the plugin prefers come first. Throws an `Error` with the kubelet's message if there are too few. kubelet:
 * devicemanager/manager.go devicesToAllocate, filterByAffinity
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
  // Devices on other nodes come before devices without a node.
  const rest = available.filter((id) => !aligned.includes(id));
  const hasNodes = (id: string): boolean =>
    devices.get(id)?.nodes.some((node) => node !== nodeWithoutTopology) ?? false;
  const ordered = affinity === undefined ? rest : [...rest.filter(hasNodes), ...rest.filter((id) => !hasNodes(id))];
  return { reused, needed, available: [...aligned, ...ordered], aligned };
}

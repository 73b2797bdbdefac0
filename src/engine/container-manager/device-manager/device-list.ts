import type { ListAndWatchResponse } from '../../../plugins/types.ts';
import type { Device, Devices } from './device.ts';

/** Bounds the memory and the checkpoint that one resource takes. */
const limits = { devices: 4096, idLength: 253, nodes: 64 };

/**
 * The devices of a list. Of several devices with one id the last counts. Throws an `Error` for a list that no machine
 * has: too many devices or nodes, or texts that are no ids.
 */
export function deviceList({ devices }: ListAndWatchResponse): Devices {
  if (devices.length > limits.devices) throw new Error(`it lists more than ${limits.devices} devices`);
  return new Map(
    devices.map(({ ID: id, health, topology }): [string, Device] => {
      if (id === '' || id.length > limits.idLength || /\p{Cc}/u.test(id))
        throw new Error(`an id of a device is empty, longer than ${limits.idLength} characters, or not a text`);
      const nodes = (topology?.nodes ?? []).map(({ ID: node }) => Number(node));
      if (nodes.length > limits.nodes || !nodes.every(Number.isSafeInteger))
        throw new Error(`a device has more than ${limits.nodes} NUMA nodes, or an id of one that is no whole number`);
      const hasEmptyTopology = topology !== undefined && nodes.length === 0;
      return [id, { id, isHealthy: health === 'Healthy', nodes, ...(hasEmptyTopology && { hasEmptyTopology }) }];
    }),
  );
}

import { listOf, mapOf, structOf, textOf } from '../checkpoint/go-members.ts';
import type { GoType, GoValue } from '../checkpoint/go-types.ts';
import { checksumOf, decodeGo, encodeGo } from '../checkpoint/go-value.ts';

/** Content of `kubelet_internal_checkpoint`. kubelet: devicemanager/checkpoint/checkpoint.go */
export interface DeviceCheckpoint {
  entries: readonly CheckpointEntry[];
  /** Ids of the healthy devices by resource. */
  registered: ReadonlyMap<string, readonly string[]>;
}

export interface CheckpointEntry {
  podUID: string;
  containerName: string;
  resource: string;
  idsByNode: ReadonlyMap<number, readonly string[]>;
  /** The bytes of the plugin's ContainerAllocateResponse. */
  response: Uint8Array;
}

const text = { kind: 'string', name: 'string' } as const;
const texts = { kind: 'slice', name: '[]string', element: text } as const;

const entry = {
  kind: 'struct',
  name: 'checkpoint.PodDevicesEntry',
  fields: [
    { name: 'PodUID', json: 'PodUID', type: text },
    { name: 'ContainerName', json: 'ContainerName', type: text },
    { name: 'ResourceName', json: 'ResourceName', type: text },
    {
      name: 'DeviceIDs',
      json: 'DeviceIDs',
      type: { kind: 'map', name: 'checkpoint.DevicesPerNUMA', key: 'int', value: texts },
    },
    { name: 'AllocResp', json: 'AllocResp', type: { kind: 'bytes', name: '[]uint8' } },
  ],
} as const satisfies GoType;

const content = {
  kind: 'struct',
  name: 'checkpoint.checkpointData',
  fields: [
    {
      name: 'PodDeviceEntries',
      json: 'PodDeviceEntries',
      type: { kind: 'slice', name: '[]checkpoint.PodDevicesEntry', element: entry },
    },
    {
      name: 'RegisteredDevices',
      json: 'RegisteredDevices',
      type: { kind: 'map', name: 'map[string][]string', key: 'string', value: texts },
    },
  ],
} as const satisfies GoType;

const file = {
  kind: 'struct',
  name: 'checkpoint.Data',
  fields: [
    { name: 'Data', json: 'Data', type: content },
    { name: 'Checksum', json: 'Checksum', type: { kind: 'uint64', name: 'checksum.Checksum' } },
  ],
} as const satisfies GoType;

/** Returns the content of the file with its checksum. */
export function formatDeviceCheckpoint({ entries, registered }: DeviceCheckpoint): string {
  const data = {
    PodDeviceEntries:
      entries.length === 0
        ? undefined
        : entries.map(({ podUID, containerName, resource, idsByNode, response }) => ({
            PodUID: podUID,
            ContainerName: containerName,
            ResourceName: resource,
            DeviceIDs: new Map([...idsByNode].map(([node, ids]) => [String(node), ids])),
            AllocResp: Buffer.from(response).toString('base64'),
          })),
    RegisteredDevices: new Map(registered),
  };
  return encodeGo({ Data: data, Checksum: checksumOf(data, content) }, file);
}

/** Throws an `Error` with the kubelet's message if the file is damaged. */
export function parseDeviceCheckpoint(text: string): DeviceCheckpoint {
  const read = decodeGo(text, file, { Data: {}, Checksum: 0n });
  const data = structOf(read['Data']);
  if (read['Checksum'] !== checksumOf(data, content)) throw new Error('checkpoint is corrupted');
  return {
    entries: listOf(data['PodDeviceEntries']).map((value) => {
      const fields = structOf(value);
      return {
        podUID: textOf(fields['PodUID']),
        containerName: textOf(fields['ContainerName']),
        resource: textOf(fields['ResourceName']),
        idsByNode: new Map([...mapOf(fields['DeviceIDs'])].map(([node, ids]) => [Number(node), textsOf(ids)])),
        response: Buffer.from(textOf(fields['AllocResp']), 'base64'),
      };
    }),
    registered: new Map([...mapOf(data['RegisteredDevices'])].map(([resource, ids]) => [resource, textsOf(ids)])),
  };
}

const textsOf = (value: GoValue): string[] => listOf(value).map(textOf);

import { expect, test } from 'vitest';
import {
  formatDeviceCheckpoint,
  parseDeviceCheckpoint,
} from '../../../../src/engine/container-manager/device-manager/device-checkpoint.ts';

const checkpoint = {
  entries: [
    {
      podUID: 'u1',
      containerName: 'main',
      resource: 'example.com/dev',
      idsByNode: new Map([
        [0, ['d0']],
        [-1, ['d1']],
      ]),
      response: Buffer.from([10, 0]),
    },
  ],
  registered: new Map([['example.com/dev', ['d0', 'd1']]]),
};

test('the file has the members and the names of the kubelet', () => {
  const { Data, Checksum } = JSON.parse(formatDeviceCheckpoint(checkpoint)) as { Data: unknown; Checksum: number };
  expect(Data).toEqual({
    PodDeviceEntries: [
      {
        PodUID: 'u1',
        ContainerName: 'main',
        ResourceName: 'example.com/dev',
        DeviceIDs: { '-1': ['d1'], '0': ['d0'] },
        AllocResp: 'CgA=',
      },
    ],
    RegisteredDevices: { 'example.com/dev': ['d0', 'd1'] },
  });
  expect(Checksum).toBeGreaterThan(0);
  expect(formatDeviceCheckpoint({ entries: [], registered: new Map() })).toMatch(
    /^\{"Data":\{"PodDeviceEntries":null,"RegisteredDevices":\{\}\},"Checksum":\d+\}$/,
  );
});

test('the file is read back, and a changed one is refused', () => {
  const text = formatDeviceCheckpoint(checkpoint);
  expect(parseDeviceCheckpoint(text)).toEqual(checkpoint);
  expect(() => parseDeviceCheckpoint(text.replace('"d0"', '"d9"'))).toThrow('checkpoint is corrupted');
  expect(() => parseDeviceCheckpoint('')).toThrow('Expected a value, found the end of the text');
});

test('members of the file may have other capitals, as in Go', () => {
  const text = formatDeviceCheckpoint(checkpoint);
  const other = text.replace('"Data"', '"DATA"').replace('"PodUID"', '"poduid"').replace('"Checksum"', '"checksum"');
  expect(parseDeviceCheckpoint(other)).toEqual(checkpoint);
});

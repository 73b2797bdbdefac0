import { expect, test } from 'vitest';
import type { Device } from '../../../../src/engine/container-manager/device-manager/device.ts';
import { computeDeviceHints } from '../../../../src/engine/container-manager/device-manager/device-hints.ts';

const devices = new Map(
  [
    { id: 'a', isHealthy: true, nodes: [0] },
    { id: 'b', isHealthy: true, nodes: [1] },
    { id: 'c', isHealthy: true, nodes: [1] },
    { id: 'both', isHealthy: true, nodes: [0, 1] },
    { id: 'none', isHealthy: true, nodes: [] },
    { id: 'unknown', isHealthy: true, nodes: [-1] },
    { id: 'beyond', isHealthy: true, nodes: [64] },
  ].map((device): [string, Device] => [device.id, device]),
);
const all = [...devices.keys()];

const hints = (count: number, available: string[], reusable: string[] = []): string[] =>
  computeDeviceHints([0, 1], { count, devices, available, reusable }).map(
    ({ affinity = 0n, preferred }) => `${affinity.toString(2)}${preferred ? ' preferred' : ''}`,
  );

test.each([
  ['one fits on each node', 1, all, [], ['1 preferred', '10 preferred', '11']],
  ['three fit on node 1', 3, all, [], ['10 preferred', '11']],
  ['a node without free devices is left out', 1, ['b'], [], ['10 preferred', '11']],
  ['what would fit on one node is not preferred on two', 2, ['a', 'b'], [], ['11']],
  ['all of an init container are within', 2, ['b', 'c'], ['a'], ['11']],
  ['a device without a node fits nowhere', 1, ['none'], [], []],
  ['a device of a node that no mask has fits nowhere', 1, ['unknown', 'beyond'], [], []],
  ['an init container with such a device leaves no node', 1, all, ['unknown'], []],
] satisfies [string, number, string[], string[], string[]][])('%s', (_name, count, available, reusable, expected) => {
  expect(hints(count, available, reusable)).toEqual(expected);
});

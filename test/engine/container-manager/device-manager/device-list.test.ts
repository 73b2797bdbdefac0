import { expect, test } from 'vitest';
import { deviceList } from '../../../../src/engine/container-manager/device-manager/device-resources.ts';

const listed = (ID: string, health = 'Healthy', nodes: number[] = []) => ({
  ID,
  health,
  topology: nodes.length === 0 ? undefined : { nodes: nodes.map((node) => ({ ID: BigInt(node) })) },
});

test('a device is healthy only if its plugin says so, and the last of an id counts', () => {
  expect([
    ...deviceList({ devices: [listed('a'), listed('b', 'Unhealthy', [1]), listed('a', 'fine')] }).values(),
  ]).toEqual([
    { id: 'a', isHealthy: false, nodes: [] },
    { id: 'b', isHealthy: false, nodes: [1] },
  ]);
});

test('a topology without nodes is another thing than no topology', () => {
  const empty = { ...listed('a'), topology: { nodes: [] } };
  expect([...deviceList({ devices: [empty, listed('b')] }).values()]).toEqual([
    { id: 'a', isHealthy: true, nodes: [], hasEmptyTopology: true },
    { id: 'b', isHealthy: true, nodes: [] },
  ]);
});

const devicesOf = (count: number) => Array.from({ length: count }, (_, index) => listed(`d${index}`));

test('a list may have 4,096 devices, ids of 253 characters and NUMA nodes that no machine has', () => {
  expect(deviceList({ devices: devicesOf(4096) }).size).toBe(4096);
  const id = 'x'.repeat(253);
  expect(deviceList({ devices: [listed(id, 'Healthy', [0, 64, -1])] }).get(id)).toEqual({
    id,
    isHealthy: true,
    nodes: [0, 64, -1],
  });
});

test.each([
  ['too many devices', devicesOf(4097)],
  ['an id that is too long', [listed('x'.repeat(254))]],
  ['an empty id', [listed('')]],
  ['a control character', [listed('a\nb')]],
  [
    'too many nodes',
    [
      listed(
        'a',
        'Healthy',
        Array.from({ length: 65 }, (_, node) => node),
      ),
    ],
  ],
  ['a node that is no exact number here', [listed('a', 'Healthy', [2 ** 60])]],
])('a list with %s is refused', (_name, devices) => {
  expect(() => deviceList({ devices })).toThrow();
});

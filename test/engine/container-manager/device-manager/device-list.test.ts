import { expect, test } from 'vitest';
import { deviceList } from '../../../../src/engine/container-manager/device-manager/device-list.ts';

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

test.each([
  ['too many devices', Array.from({ length: 5000 }, (_, index) => listed(`d${index}`))],
  ['an endless id', [listed('x'.repeat(1000))]],
  ['an empty id', [listed('')]],
  ['a control character', [listed('a\nb')]],
  ['a node that no machine has', [listed('a', 'Healthy', [64])]],
  ['a negative node', [listed('a', 'Healthy', [-1])]],
])('a list with %s is refused', (_name, devices) => {
  expect(() => deviceList({ devices })).toThrow();
});

import { expect, test } from 'vitest';
import {
  type Choice,
  chooseDevices,
  computePreference,
} from '../../../../src/engine/container-manager/device-manager/choose-devices.ts';
import type { Device } from '../../../../src/engine/container-manager/device-manager/device.ts';

const device = (id: string, nodes: number[] = [], isHealthy = true): [string, Device] => [id, { id, nodes, isHealthy }];

const choice = (changes: Partial<Choice> = {}): Choice => ({
  resource: 'example.com/dev',
  count: 2,
  reusable: new Set(),
  devices: new Map([device('n'), device('a0', [0]), device('b0', [1]), device('b1', [1]), device('sick', [1], false)]),
  inUse: new Set(),
  affinity: undefined,
  ...changes,
});

test.each([
  ['healthy ones in the order of the plugin', {}, ['n', 'a0']],
  ['none that is in use', { inUse: new Set(['n', 'b0']) }, ['a0', 'b1']],
  ['those of init containers first', { reusable: new Set(['b1']), inUse: new Set(['b1']) }, ['b1', 'n']],
  ['no more of them than it asks for', { count: 1, reusable: new Set(['b1', 'b0']) }, ['b1']],
  ['those on its nodes', { affinity: 0b10n }, ['b0', 'b1']],
  ['all on its nodes, then those on others', { count: 3, affinity: 0b10n }, ['b0', 'b1', 'a0']],
  ['those without a node last', { count: 4, affinity: 0b10n }, ['b0', 'b1', 'a0', 'n']],
  [
    'those of node -1 last, and those of a node that no mask has before',
    { count: 3, affinity: 0b10n, devices: new Map([device('u', [-1]), device('x', [64]), device('b', [1])]) },
    ['b', 'x', 'u'],
  ],
] satisfies [string, Partial<Choice>, string[]][])('a container gets %s', (_name, changes, ids) => {
  expect(chooseDevices(choice(changes))).toEqual(ids);
});

test.each([
  ['among all', {}, ['b1', 'a0'], ['b1', 'a0']],
  ['only as far as they are free', { inUse: new Set(['b1']) }, ['b1', 'b0', 'nonsense'], ['b0', 'n']],
  ['only within its nodes', { count: 1, affinity: 0b10n }, ['a0', 'b1'], ['b1']],
  ['among the rest once those on its nodes are taken', { count: 3, affinity: 0b10n }, ['n'], ['b0', 'b1', 'n']],
] satisfies [string, Partial<Choice>, string[], string[]][])(
  'the plugin has a preference %s',
  (_name, changes, preferred, ids) => {
    expect(chooseDevices(choice(changes), preferred)).toEqual(ids);
  },
);

test('the plugin is asked only if it has a choice', () => {
  expect(computePreference(choice())).toEqual({ available: ['n', 'a0', 'b0', 'b1'], mustInclude: [], count: 2 });
  expect(computePreference(choice({ affinity: 0b10n }))).toBeUndefined();
  expect(computePreference(choice({ reusable: new Set(['a0', 'b0']) }))).toBeUndefined();
  expect(computePreference(choice({ count: 3, affinity: 0b10n }))).toEqual({
    available: ['b0', 'b1', 'a0', 'n'],
    mustInclude: ['b0', 'b1'],
    count: 3,
  });
});

test('too few devices are an error with both numbers', () => {
  expect(() => chooseDevices(choice({ count: 5 }))).toThrow(
    'requested number of devices unavailable for example.com/dev. Requested: 5, Available: 4',
  );
});

import { expect, test } from 'vitest';
import type { Summary } from '../../../src/engine/stats/summary.ts';
import { resourceFamilies } from '../../../src/server/metrics/resource-families.ts';

const time = '2024-01-02T03:04:05Z';

test('the swap limit of a container is what it uses and what is left, if both are known', () => {
  const container = (name: string, swap: object): object => ({ name, startTime: time, swap: { time, ...swap } });
  const containers = [
    container('a', { swapUsageBytes: 3, swapAvailableBytes: 5 }),
    container('b', { swapUsageBytes: 3 }),
    container('c', { swapAvailableBytes: 5 }),
  ];
  const pod = { podRef: { name: 'web', namespace: 'default', uid: 'u' }, startTime: time, containers };
  const summary = { node: { nodeName: 'n', startTime: time }, pods: [pod] } as unknown as Summary;
  const family = resourceFamilies(summary).find(({ name }) => name === 'container_swap_limit_bytes');
  expect(family).toEqual({
    name: 'container_swap_limit_bytes',
    type: 'gauge',
    help: '[ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems',
    samples: [{ labels: { container: 'a', pod: 'web', namespace: 'default' }, value: 8, at: Date.parse(time) }],
  });
});

import { expect, test } from 'vitest';
import { containerRows, nodeTable, podRows, usageTable } from '../../../src/commands/top/usage-rows.ts';
import type { PodStats } from '../../../src/engine/stats/summary.ts';

const time = '2025-01-01T00:00:00.000Z';
const mebibyte = 1024 * 1024;

const usage = (usageNanoCores: number, mebibytes: number) => ({
  cpu: { time, usageNanoCores },
  memory: { time, workingSetBytes: mebibytes * mebibyte + 1000 },
});

const web: PodStats = {
  podRef: { name: 'web-edge1', namespace: 'default', uid: 'u1' },
  startTime: time,
  ...usage(12_000_001, 40),
  'ephemeral-storage': { time, usedBytes: 3 * mebibyte },
  process_stats: { process_count: 7 },
  network: { time, name: 'eth0', rxBytes: 5 * mebibyte, txBytes: 6 * mebibyte },
  containers: [
    { name: 'app', startTime: time, ...usage(2_000_000, 30), rootfs: { time, usedBytes: 2 * mebibyte } },
    { name: 'side', startTime: time, ...usage(10_000_000, 10) },
  ],
};
const dns: PodStats = {
  podRef: { name: 'dns-edge1', namespace: 'kube-system', uid: 'u2' },
  startTime: time,
  ...usage(1, 80),
  containers: [{ name: 'dns', startTime: time, memory: { time, workingSetBytes: 80 * mebibyte } }],
};
const pods = [web, dns];

test('pods have their CPU rounded up and their memory rounded down, as in kubectl', () => {
  expect(usageTable(podRows(pods, undefined), { containers: false, wide: false })).toEqual([
    ['NAMESPACE', 'NAME', 'CPU(cores)', 'MEMORY(bytes)'],
    ['default', 'web-edge1', '13m', '40Mi'],
    ['kube-system', 'dns-edge1', '1m', '80Mi'],
  ]);
});

test('wide adds disk, processes and network, as far as they are known', () => {
  expect(usageTable(podRows(pods, undefined), { containers: false, wide: true })).toEqual([
    ['NAMESPACE', 'NAME', 'CPU(cores)', 'MEMORY(bytes)', 'DISK(bytes)', 'PROCESSES', 'RX(bytes)', 'TX(bytes)'],
    ['default', 'web-edge1', '13m', '40Mi', '3Mi', '7', '5Mi', '6Mi'],
    ['kube-system', 'dns-edge1', '1m', '80Mi', '<unknown>', '<unknown>', '<unknown>', '<unknown>'],
  ]);
});

test('the largest come first, and unknown figures last', () => {
  const names = (rows: ReturnType<typeof podRows>): string[] => rows.map(({ names: parts }) => parts.join('/'));
  expect(names(podRows(pods, 'cpu'))).toEqual(['default/web-edge1', 'kube-system/dns-edge1']);
  expect(names(podRows(pods, 'memory'))).toEqual(['kube-system/dns-edge1', 'default/web-edge1']);
  expect(names(containerRows(pods, 'cpu'))).toEqual([
    'default/web-edge1/side',
    'default/web-edge1/app',
    'kube-system/dns-edge1/dns',
  ]);
});

test('containers have rows of their own', () => {
  expect(usageTable(containerRows(pods, undefined), { containers: true, wide: true })).toEqual([
    ['NAMESPACE', 'POD', 'NAME', 'CPU(cores)', 'MEMORY(bytes)', 'DISK(bytes)'],
    ['default', 'web-edge1', 'app', '2m', '30Mi', '2Mi'],
    ['default', 'web-edge1', 'side', '10m', '10Mi', '<unknown>'],
    ['kube-system', 'dns-edge1', 'dns', '<unknown>', '80Mi', '<unknown>'],
  ]);
});

test('the node has percentages of its capacity', () => {
  const node = {
    nodeName: 'edge1',
    startTime: time,
    cpu: { time, usageNanoCores: 500_000_000 },
    memory: { time, workingSetBytes: 250 * mebibyte, availableBytes: 750 * mebibyte },
    fs: { time, usedBytes: 10 * mebibyte, capacityBytes: 30 * mebibyte },
    rlimit: { time, curproc: 321 },
  };
  expect(nodeTable(node, { cores: 4, wide: true })).toEqual([
    ['NAME', 'CPU(cores)', 'CPU%', 'MEMORY(bytes)', 'MEMORY%', 'DISK(bytes)', 'DISK%', 'PROCESSES'],
    ['edge1', '500m', '12%', '250Mi', '25%', '10Mi', '33%', '321'],
  ]);
  expect(nodeTable({ nodeName: 'edge1', startTime: time }, { cores: 4, wide: false })[1]).toEqual([
    'edge1',
    ...Array.from({ length: 4 }, () => '<unknown>'),
  ]);
});

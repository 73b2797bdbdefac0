import { expect, test } from 'vitest';
import type { SummaryRequest } from '../../../src/engine/stats/stats-provider.ts';
import type { CPUStats, PodStats, Summary } from '../../../src/engine/stats/summary.ts';
import { systemClock } from '../../../src/clock.ts';
import { summaryParts } from '../../../src/server/api/stats-summary.ts';
import { ApiRig, engineWith } from './api-rig.ts';

const time = '2024-01-02T03:04:05.678Z';
const cpu = { time, usageNanoCores: 1, usageCoreNanoSeconds: 2 };
const swap = { time, swapUsageBytes: 3 };
/** As the kubelet writes it. */
const cut = '2024-01-02T03:04:05Z';
const cutCPU = { ...cpu, time: cut };

const pod = (name: string, containers: PodStats['containers']): PodStats => ({
  podRef: { name, namespace: 'default', uid: `uid-${name}` },
  startTime: time,
  containers,
  cpu,
  process_stats: { process_count: 4 },
});

const summary: Summary = {
  node: { nodeName: 'edge1', systemContainers: [{ name: 'pods', startTime: time, cpu, swap }], startTime: time, swap },
  pods: [pod('web', [{ name: 'a', startTime: time, cpu, swap }]), pod('crash', [])],
};
const ofNode = (usage: CPUStats): Summary => ({ ...summary, node: { ...summary.node, cpu: usage } });

/** Returns the answer of a node that samples these one after the other, and what was asked of it meanwhile. */
async function asked(
  query: string,
  ...samples: Summary[]
): Promise<{ body: string; asked: unknown[]; problems: unknown[] }> {
  const seen: unknown[] = [];
  const next = (request: SummaryRequest): Promise<Summary> => {
    seen.push(request);
    return Promise.resolve(samples.shift() ?? summary);
  };
  const sleep = (ms: number): Promise<void> => Promise.resolve(void seen.push(`waited ${ms} ms`));
  const rig = await ApiRig.open({
    engine: { ...engineWith([]), summary: next },
    clock: { ...systemClock, now: () => Date.parse(time), sleep },
  });
  const answer = await rig.short(`GET /stats/summary${query}`, { client: await rig.authority.issue('carol') });
  return { body: answer.replace(/^200 /, ''), asked: seen, problems: rig.problems };
}

test('pods without a running container are left out, and times are in whole seconds', async () => {
  const { body } = await asked('', summary);
  const cutSwap = { ...swap, time: cut };
  const expected = {
    node: {
      nodeName: 'edge1',
      systemContainers: [{ name: 'pods', startTime: cut, cpu: cutCPU, swap: cutSwap }],
      startTime: cut,
      swap: cutSwap,
    },
    pods: [{ ...pod('web', [{ name: 'a', startTime: cut, cpu: cutCPU, swap: cutSwap }]), startTime: cut, cpu: cutCPU }],
  };
  expect(body).toBe(JSON.stringify(expected, undefined, 1));
});

test('a shared sample with further figures is cut to CPU and memory', async () => {
  const { body } = await asked('?only_cpu_and_memory=true', summary);
  expect(JSON.parse(body)).toEqual({
    node: { nodeName: 'edge1', systemContainers: [{ name: 'pods', startTime: cut, cpu: cutCPU }], startTime: cut },
    pods: [
      {
        podRef: { name: 'web', namespace: 'default', uid: 'uid-web' },
        startTime: cut,
        cpu: cutCPU,
        containers: [{ name: 'a', startTime: cut, cpu: cutCPU }],
      },
    ],
  });
});

test('a client that comes seldom gets CPU usage as well, half a second later', async () => {
  const { body, asked: seen } = await asked('', ofNode({ time, usageCoreNanoSeconds: 2 }), ofNode(cpu));
  expect(seen).toEqual([
    { maxAgeMs: 1000, cpuAndMemoryOnly: false },
    'waited 500 ms',
    { maxAgeMs: 500, cpuAndMemoryOnly: false },
  ]);
  expect((JSON.parse(body) as Summary).node.cpu?.usageNanoCores).toBe(1);
});

test('a summary that fails in its middle is cut there, and the failure itself is noted', async () => {
  const failure = new Error('no start');
  const pods = Array.from({ length: 1500 }, (_, at) => pod(`web-${at}`, [{ name: 'app', startTime: time, cpu }]));
  const broken: PodStats = {
    ...pod('broken', [{ name: 'app', startTime: time }]),
    toJSON(): never {
      throw failure;
    },
  } as PodStats;
  const { body, problems } = await asked('', { ...summary, pods: [...pods, broken] });
  expect(problems).toEqual([failure]);
  expect({
    isBegun: body.includes('"name": "web-0"'),
    isEnded: body.includes('Error') || body.endsWith(']\n}'),
  }).toEqual({ isBegun: true, isEnded: false });
});

test.each([0, 1, 300])('a summary of %i pods is one JSON text, of parts with at most 128 KiB', (count) => {
  const pods = Array.from({ length: count }, (_, at) => pod(`web-${at}`, [{ name: 'größe', startTime: time, cpu }]));
  const parts = [...summaryParts({ ...summary, pods }, false)].map((part) => Buffer.from(part));
  const text = JSON.stringify({ ...summary, pods }, undefined, 1).replaceAll(time, cut);
  expect(Buffer.concat(parts).toString()).toBe(text);
  expect(parts.map(({ length }) => length <= 128 * 1024)).toEqual(parts.map(() => true));
});

test.each(['?only_cpu_and_memory=%zz', '?a%4=%zz', '?x=%', '?a;b', '?%zz&a;b'])(
  'a query that cannot be read is refused: %s',
  async (query) => {
    expect(await asked(query, summary)).toEqual({
      body: '500 Internal Error: parse form failed',
      asked: [],
      problems: [],
    });
  },
);

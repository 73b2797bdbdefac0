import { expect, test } from 'vitest';
import type { SummaryRequest } from '../../../src/engine/stats/stats-provider.ts';
import type { ContainerStats, CPUStats, PodStats, Summary } from '../../../src/engine/stats/summary.ts';
import { systemClock } from '../../../src/clock.ts';
import { summaryParts } from '../../../src/server/api/stats-summary.ts';
import { ApiRig, engineWith } from './api-rig.ts';

const time = '2024-01-02T03:04:05.678Z';
const cpu = { time, usageNanoCores: 1, usageCoreNanoSeconds: 2 };
const swap = { time, swapUsageBytes: 3 };
/** As the kubelet writes it. */
const cut = '2024-01-02T03:04:05Z';
const cutCPU = { ...cpu, time: cut };
const noData = { total: 0, avg10: 0, avg60: 0, avg300: 0 };
/** Of a machine whose kernel reports no pressure. */
const psi = { full: noData, some: noData };
const idleCPU = { ...cutCPU, psi };
const idleIO = { time: cut, psi };

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
      systemContainers: [{ name: 'pods', startTime: cut, cpu: idleCPU, swap: cutSwap, io: idleIO }],
      startTime: cut,
      swap: cutSwap,
    },
    pods: [
      {
        ...pod('web', [{ name: 'a', startTime: cut, cpu: cutCPU, swap: cutSwap, io: { time: cut } } as ContainerStats]),
        startTime: cut,
        cpu: idleCPU,
        io: idleIO,
      },
    ],
  };
  expect(body).toBe(JSON.stringify(expected, undefined, 1));
});

test('pressure that the kernel reports is shown, of a container too', async () => {
  const some = { total: 7, avg10: 1, avg60: 2, avg300: 3 };
  const measured = { time, psi: { some, full: some } };
  const container = { name: 'a', startTime: time, cpu: { ...cpu, psi: measured.psi }, io: measured };
  const { body } = await asked('', { ...summary, pods: [{ ...pod('web', [container]), ...container }] });
  const { cpu: cpuOfPod, io, containers } = (JSON.parse(body) as Summary).pods[0] ?? {};
  const shown = { cpu: { ...cutCPU, psi: measured.psi }, io: { ...measured, time: cut } };
  expect({ cpu: cpuOfPod, io, containers }).toEqual({
    ...shown,
    containers: [{ name: 'a', startTime: cut, ...shown }],
  });
});

test('a shared sample with further figures is cut to CPU, memory, swap and disks', async () => {
  const { body } = await asked('?only_cpu_and_memory=true', summary);
  const cutSwap = { ...swap, time: cut };
  expect(JSON.parse(body)).toEqual({
    node: {
      nodeName: 'edge1',
      systemContainers: [{ name: 'pods', startTime: cut, cpu: idleCPU, swap: cutSwap, io: idleIO }],
      startTime: cut,
      swap: cutSwap,
    },
    pods: [
      {
        podRef: { name: 'web', namespace: 'default', uid: 'uid-web' },
        startTime: cut,
        cpu: idleCPU,
        io: idleIO,
        containers: [{ name: 'a', startTime: cut, cpu: cutCPU, swap: cutSwap, io: { time: cut } }],
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
  const { pods: shown } = JSON.parse(Buffer.concat(parts).toString()) as Summary;
  expect(shown.map(({ podRef, containers }) => [podRef.name, containers[0]?.name])).toEqual(
    pods.map(({ podRef }) => [podRef.name, 'größe']),
  );
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

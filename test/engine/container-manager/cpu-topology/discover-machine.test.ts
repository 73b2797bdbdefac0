import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { discoverMachine } from '../../../../src/engine/container-manager/cpu-topology/discover-machine.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const machines = [
  {
    title: 'two nodes on two sockets, with two threads a core',
    files: {
      'cpu/online': '0-7',
      ...cpu(0, { socket: 0, siblings: '0,4', l3: 0 }),
      ...cpu(1, { socket: 0, siblings: '1,5', l3: 0 }),
      ...cpu(2, { socket: 1, siblings: '2,6', l3: 1 }),
      ...cpu(3, { socket: 1, siblings: '3,7', l3: 1 }),
      ...cpu(4, { socket: 0, siblings: '0,4', l3: 0 }),
      ...cpu(5, { socket: 0, siblings: '1,5', l3: 0 }),
      ...cpu(6, { socket: 1, siblings: '2,6', l3: 1 }),
      ...cpu(7, { socket: 1, siblings: '3,7', l3: 1 }),
      'node/node0/cpulist': '0-1,4-5',
      'node/node0/distance': '10 21',
      'node/node1/cpulist': '2-3,6-7',
      'node/node1/distance': '21 10',
    },
    machine: {
      nodes: [
        { id: 0, cores: [core(0, [0, 4], 0), core(0, [1, 5], 0)], distances: [10, 21] },
        { id: 1, cores: [core(1, [2, 6], 1), core(1, [3, 7], 1)], distances: [21, 10] },
      ],
    },
  },
  {
    title: 'a kernel without NUMA nodes and level 3 caches, and an offline CPU',
    files: {
      'cpu/online': '0,2-3',
      ...cpu(0, { socket: -1, siblings: '0-1' }),
      ...cpu(2, { socket: -1, siblings: '2-3' }),
      ...cpu(3, { socket: -1, siblings: '2-3' }),
    },
    machine: { nodes: [{ id: 0, cores: [core(0, [0]), core(0, [2, 3])] }] },
  },
  {
    title: 'nodes in the order of their numbers, one without processors',
    files: {
      'cpu/online': '0',
      ...cpu(0, { socket: 0, siblings: '0' }),
      'node/node10/cpulist': '',
      'node/node2/cpulist': '0',
    },
    machine: {
      nodes: [
        { id: 2, cores: [core(0, [0])] },
        { id: 10, cores: [] },
      ],
    },
  },
];

test.each(machines)('reads $title', async ({ files, machine }) => {
  const folder = await temporaryFolder();
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), `${content}\n`);
  }
  expect(await discoverMachine(folder)).toEqual(machine);
});

test('reads this machine', async () => {
  const { nodes } = await discoverMachine();
  expect(nodes.flatMap(({ cores }) => cores.flatMap(({ threads }) => threads)).length).toBeGreaterThan(0);
});

function cpu(number: number, { socket, siblings, l3 }: { socket: number; siblings: string; l3?: number }) {
  const folder = `cpu/cpu${number}`;
  return {
    [`${folder}/topology/physical_package_id`]: String(socket),
    [`${folder}/topology/thread_siblings_list`]: siblings,
    [`${folder}/cache/index0/level`]: '1',
    ...(l3 !== undefined && { [`${folder}/cache/index3/level`]: '3', [`${folder}/cache/index3/id`]: String(l3) }),
  };
}

function core(socket: number, threads: number[], l3?: number) {
  return { socket, threads, l3 };
}

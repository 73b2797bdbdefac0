import { mkdirSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { discoverMemory } from '../../../../src/engine/container-manager/memory-manager/discover-memory.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

async function sysfs(files: Record<string, string>): Promise<string> {
  const folder = await temporaryFolder();
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

test('each NUMA node has its memory and its huge pages', async () => {
  const sys = await sysfs({
    'devices/system/node/online': '0,10\n',
    'devices/system/node/node10/meminfo': 'Node 10 MemTotal:       2048 kB\nNode 10 MemFree:        1 kB\n',
    'devices/system/node/node0/meminfo': 'Node 0 MemTotal:       4096 kB\n',
    'devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages': '3\n',
    'devices/system/node/node0/hugepages/hugepages-1048576kB/nr_hugepages': '0\n',
  });
  expect(await discoverMemory(sys)).toEqual([
    {
      id: 0,
      bytes: 4_194_304n,
      hugePages: [
        { sizeBytes: 2_097_152n, pages: 3n },
        { sizeBytes: 1_073_741_824n, pages: 0n },
      ],
    },
    { id: 10, bytes: 2_097_152n, hugePages: [] },
  ]);
});

test('a kernel without NUMA has all memory in node 0', async () => {
  const sys = await sysfs({ 'kernel/mm/hugepages/hugepages-2048kB/nr_hugepages': '5\n' });
  expect(await discoverMemory(sys)).toEqual([
    { id: 0, bytes: BigInt(totalmem()), hugePages: [{ sizeBytes: 2_097_152n, pages: 5n }] },
  ]);
});

test('this machine has memory in its nodes', async () => {
  const nodes = await discoverMemory();
  expect(nodes.every(({ bytes }) => bytes > 0n)).toBe(true);
});

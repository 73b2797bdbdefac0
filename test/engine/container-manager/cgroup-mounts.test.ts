import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseCgroupMounts, readCgroupMounts } from '../../../src/engine/container-manager/cgroup-mounts.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { usedHeapBytes } from '../../support/used-heap-bytes.ts';

test('finds each controller of cgroup v1 where it is mounted, alone or with another', () => {
  const mountInfo = [
    '23 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw',
    '31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755',
    '32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:5 - cgroup cgroup rw,cpu,cpuacct',
    '35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory',
    '36 31 0:33 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer',
    '38 31 0:35 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids',
    '39 31 0:35 / /another/pids rw,relatime - cgroup cgroup rw,pids',
    '41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw',
    '',
  ].join('\n');
  expect(parseCgroupMounts(mountInfo)).toEqual({
    version: 1,
    controllers: new Map([
      ['cpu', '/sys/fs/cgroup/cpu,cpuacct'],
      ['memory', '/sys/fs/cgroup/memory'],
      ['pids', '/sys/fs/cgroup/pids'],
    ]),
    hierarchies: [
      '/sys/fs/cgroup/cpu,cpuacct',
      '/sys/fs/cgroup/memory',
      '/sys/fs/cgroup/freezer',
      '/sys/fs/cgroup/pids',
      '/another/pids',
      '/sys/fs/cgroup/unified',
    ],
  });
});

test('asks cgroup v2 which controllers it offers', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'cgroup.controllers'), 'cpuset cpu io memory pids\n');
  const mountInfo = `30 23 0:26 / ${folder} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n`;
  expect(await readCgroupMounts(mountInfo)).toEqual({
    version: 2,
    controllers: new Map([
      ['cpu', folder],
      ['memory', folder],
      ['pids', folder],
    ]),
    hierarchies: [folder],
  });
});

test('finds nothing on a machine without cgroups', () => {
  expect(parseCgroupMounts('23 1 8:1 / / rw - ext4 /dev/sda1 rw\n')).toEqual({
    version: 2,
    controllers: new Map(),
    hierarchies: [],
  });
});

test('the mounts of cgroups do not keep the text of all mounts in memory', () => {
  const containers = '99 23 0:99 / /run/containerd/rootfs rw,relatime - overlay overlay rw\n'.repeat(200_000);
  const cgroup = '35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory,hugetlb\n';
  const before = usedHeapBytes();
  const mounts = parseCgroupMounts(cgroup + containers);
  expect(usedHeapBytes() - before).toBeLessThan(1_000_000);
  expect(mounts.hierarchies).toEqual(['/sys/fs/cgroup/memory']);
});

import { expect, test } from 'vitest';
import { readCgroupSources } from '../../../src/engine/stats/cgroup-sources.ts';
import { describedTree, mountInfo } from './described-machine.ts';

/** The sources of a machine with these mounts. `unified` lists the controllers of the unified hierarchy. */
async function sourcesOf(unified: string, ...mounts: readonly string[]) {
  const top = await describedTree({ 'cgroup.controllers': `${unified}\n` });
  const text = mountInfo(...mounts.map((mount) => mount.replace('UNIFIED', top)));
  return { top, sources: await readCgroupSources(text) };
}

test('cgroup v1 counts each resource in the hierarchy of its controller', async () => {
  const { sources } = await sourcesOf(
    '',
    'cgroup /c/cpu,cpuacct rw,cpu,cpuacct',
    'cgroup /c/blkio rw,blkio',
    'cgroup /c/memory rw,memory',
    'cgroup /c/pids rw,pids',
  );
  expect(sources).toEqual({
    cpu: { version: 1, top: '/c/cpu,cpuacct' },
    quota: { version: 1, top: '/c/cpu,cpuacct' },
    io: { version: 1, top: '/c/blkio' },
    memory: { version: 1, top: '/c/memory' },
    pids: { version: 1, top: '/c/pids' },
  });
});

test('a hybrid machine whose unified hierarchy has no controllers counts as in v1', async () => {
  const { sources } = await sourcesOf(
    '',
    'cgroup2 UNIFIED',
    'cgroup /c/cpuacct rw,cpuacct',
    'cgroup /c/memory rw,memory',
  );
  expect(sources).toEqual({ cpu: { version: 1, top: '/c/cpuacct' }, memory: { version: 1, top: '/c/memory' } });
});

test('a hybrid machine counts what v1 lacks in the unified hierarchy', async () => {
  const { top, sources } = await sourcesOf('memory pids', 'cgroup2 UNIFIED', 'cgroup /c/cpuacct rw,cpuacct');
  expect(sources).toEqual({
    cpu: { version: 1, top: '/c/cpuacct' },
    memory: { version: 2, top },
    pids: { version: 2, top },
  });
});

test('cgroup v2 counts everything in one hierarchy', async () => {
  const { top, sources } = await sourcesOf('cpuset cpu io memory pids', 'cgroup2 UNIFIED', 'tmpfs /tmp');
  const source = { version: 2, top };
  expect(sources).toEqual({
    ...{ cpu: source, memory: source, pids: source, quota: source, io: source },
    pressure: top,
  });
});

test('a machine without cgroups counts nothing', async () => {
  expect((await sourcesOf('', 'tmpfs /tmp')).sources).toEqual({});
});

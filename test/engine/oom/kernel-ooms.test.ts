import { describe, expect, test } from 'vitest';
import { type KernelOOM, KernelOOMs } from '../../../src/engine/oom/kernel-ooms.ts';
import { cgroupKill, containerCgroup, groupKill, killed, podCgroup, systemKill } from './kernel-records.ts';

const read = (messages: readonly string[]): KernelOOM[] => {
  const ooms = new KernelOOMs();
  return [...messages.map((message) => ooms.parse(message)), ooms.flush()].filter((oom) => oom !== undefined);
};

const tail = { pid: 3108, name: 'tail' };
const figures = { anonKi: 16128, fileKi: 1296, shmemKi: 0 };
const byLimit: KernelOOM = {
  ...tail,
  ...figures,
  isSystem: false,
  cgroup: containerCgroup,
  limitCgroup: containerCgroup,
  limitKi: 16384,
  isWholeCgroup: false,
};
const withoutReport = { cgroup: undefined, limitCgroup: undefined, limitKi: undefined };

describe('the kernel kills', () => {
  test('a process of a cgroup at its limit', () => {
    expect(read(cgroupKill(tail))).toEqual([byLimit]);
  });

  test('by the limit of a cgroup above', () => {
    const messages = cgroupKill(tail, { limitCgroup: podCgroup, limitKi: 32768 });
    expect(read(messages)).toEqual([{ ...byLimit, limitCgroup: podCgroup, limitKi: 32768 }]);
  });

  test('a process because the machine ran out of memory', () => {
    expect(read(systemKill(tail, '/system.slice/ssh.service'))).toEqual([
      { ...byLimit, ...withoutReport, isSystem: true, cgroup: '/system.slice/ssh.service' },
    ]);
  });

  test('all processes of a cgroup: the first stands for them', () => {
    const others = [2, 3].map((pid) => killed({ pid, name: 'child' }));
    expect(read([...cgroupKill(tail), groupKill, ...others])).toEqual([{ ...byLimit, isWholeCgroup: true }]);
  });

  test('several one after the other, the later without a report', () => {
    const second = { pid: 7, name: 'sh' };
    expect(read([...cgroupKill(tail), killed(second), ...cgroupKill(tail)])).toEqual([
      byLimit,
      { ...byLimit, ...withoutReport, ...second },
      byLimit,
    ]);
  });
});

describe('words of older kernels', () => {
  test('of 4.14', () => {
    expect(
      read([
        'tail invoked oom-killer: gfp_mask=0x14000c0(GFP_KERNEL), nodemask=(null),  order=0, oom_score_adj=999',
        `Task in ${containerCgroup} killed as a result of limit of ${podCgroup}`,
        'memory: usage 16384kB, limit 16384kB, failcnt 19',
        'Memory cgroup out of memory: Kill process 3108 (tail) score 1974 or sacrifice child',
        'Killed process 3108 (tail) total-vm:18272kB, anon-rss:16128kB, file-rss:1296kB, shmem-rss:0kB',
      ]),
    ).toEqual([{ ...byLimit, limitCgroup: podCgroup }]);
  });

  test('of 3.10, with the user before the name', () => {
    expect(
      read([
        'Out of memory: Kill process 3108 (tail) score 1974 or sacrifice child',
        'Killed process 3108, UID 0, (tail) total-vm:18272kB, anon-rss:16128kB, file-rss:1296kB, shmem-rss:0kB',
      ]),
    ).toEqual([{ ...byLimit, ...withoutReport, isSystem: true }]);
  });
});

describe('the name of a process', () => {
  test.each([['a) b'], ['x,task=y,pid=1'], [') total-vm:1kB,'], [',task_memcg=/a']])('%j misleads nobody', (name) => {
    expect(read(cgroupKill({ pid: 5, name }))).toEqual([{ ...byLimit, pid: 5, name }]);
  });
});

test('other messages are no kills', () => {
  expect(
    read([
      'oom_reaper: reaped process 3108 (tail), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB',
      'kts0: port 2(veth73a79e0e) entered forwarding state',
      '',
    ]),
  ).toEqual([]);
});

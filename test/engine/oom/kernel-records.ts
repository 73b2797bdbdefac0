/** What kernels log when memory runs out, without the stacks and tables between. */

const podUID = '5888d63c8154fb25e9b6630f8dab15fc';
const containerID = '2c2ead1dc0e64a18dca9f787dbd8f161c5f15957fd1b33ea8e80d0a12405394d';
export const podCgroup = `/kubepods/burstable/pod${podUID}`;
export const containerCgroup = `${podCgroup}/${containerID}`;

/** A kill by the limit of a cgroup, of kernel 6.18. */
export const cgroupKill = (
  process: { pid: number; name: string },
  more: { cgroup?: string; limitCgroup?: string; limitKi?: number } = {},
): string[] => {
  const { cgroup = containerCgroup, limitCgroup = cgroup, limitKi = 16384 } = more;
  return [
    `${process.name} invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=999`,
    'Call Trace:',
    ' oom_kill_process.cold+0x8/0x8a',
    `memory: usage ${limitKi}kB, limit ${limitKi}kB, failcnt 19`,
    'memory+swap: usage 16384kB, limit 9007199254740988kB, failcnt 0',
    `Memory cgroup stats for ${limitCgroup}:`,
    '[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name',
    `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=${containerID},mems_allowed=0,oom_memcg=${limitCgroup},task_memcg=${cgroup},task=${process.name},pid=${process.pid},uid=0`,
    killed(process),
  ];
};

/** The line alone, as the kernel writes it when kills come fast. */
export const killed = (
  { pid, name }: { pid: number; name: string },
  prefix = 'Memory cgroup out of memory: ',
): string =>
  `${prefix}Killed process ${pid} (${name}) total-vm:18272kB, anon-rss:16128kB, file-rss:1296kB, shmem-rss:0kB, UID:0 pgtables:76kB oom_score_adj:999`;

/** A kill because the machine ran out of memory. */
export const systemKill = (process: { pid: number; name: string }, cgroup: string): string[] => [
  'other invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0',
  'Mem-Info:',
  `oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=${cgroup},task=${process.name},pid=${process.pid},uid=0`,
  killed(process, 'Out of memory: '),
];

export const groupKill = `Tasks in ${containerCgroup} are going to be killed due to memory.oom.group set`;

export { containerID, podUID };

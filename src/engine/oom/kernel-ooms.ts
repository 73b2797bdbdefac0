/** A process that the kernel killed because memory ran out. */
export interface KernelOOM {
  pid: number;
  name: string;
  /** Memory of the process by kind, in KiB. */
  anonKi: number;
  fileKi: number;
  shmemKi: number;
  /** True if the machine ran out of memory. Otherwise a cgroup reached its limit. */
  isSystem: boolean;
  /** Cgroup of the process. Undefined if the kernel left it out, as it does for kills in quick succession. */
  cgroup: string | undefined;
  /** The cgroup that reached its limit, and that limit in KiB. */
  limitCgroup: string | undefined;
  limitKi: number | undefined;
  /** True if all processes of the cgroup were killed with it. */
  isWholeCgroup: boolean;
}

/** Facts that the kernel logs before it names the killed process. */
type Report = Pick<KernelOOM, 'cgroup' | 'limitCgroup' | 'limitKi'> & { isSystem: boolean | undefined };

const noReport: Report = { isSystem: undefined, cgroup: undefined, limitCgroup: undefined, limitKi: undefined };

/**
 * Parses kills from the messages of kernels since 3.10. A container can choose the name of a process, so every pattern
 * matches up to the end of its line. kubelet: cadvisor utils/oomparser/oomparser.go
 */
export class KernelOOMs {
  private report = noReport;
  /** The kill that the next messages may add to. */
  private latest: KernelOOM | undefined;

  /** Parses the next message. Returns the kill that it completes, if any. */
  parse(message: string): KernelOOM | undefined {
    if (message.includes(' invoked oom-killer: ')) return this.begin();
    if (message.startsWith('oom-kill:')) return this.readSummary(message);
    const [, task, limit] = /^Task in (\S+) killed as a result of limit of (\S+)$/.exec(message) ?? [];
    if (task !== undefined) this.report = { ...this.report, isSystem: false, cgroup: task, limitCgroup: limit };
    const [, limitKi] = /^memory: usage \d+kB, limit (\d+)kB, failcnt \d+$/.exec(message) ?? [];
    if (limitKi !== undefined) this.report = { ...this.report, limitKi: Number(limitKi) };
    if (message.startsWith('Memory cgroup out of memory: ')) this.report.isSystem ??= false;
    if (/^Tasks in .* are going to be killed due to memory\.oom\.group set$/.test(message) && this.latest) {
      this.latest.isWholeCgroup = true;
    }
    return this.readKill(message);
  }

  /** Returns the kill that waits for more messages, if any. Call this when no message is left. */
  flush(): KernelOOM | undefined {
    const { latest } = this;
    this.latest = undefined;
    return latest;
  }

  private begin(): KernelOOM | undefined {
    this.report = { ...noReport };
    return this.flush();
  }

  private readSummary(message: string): KernelOOM | undefined {
    const earlier = this.flush();
    const [, constraint, places = ''] = /^oom-kill:constraint=(\w+),(.*?),task=.*,pid=\d+,uid=\d+$/.exec(message) ?? [];
    // If the machine ran out of memory, the kernel writes `global_oom` instead of `oom_memcg=`.
    const [, limitCgroup] = /,oom_memcg=(.*?),task_memcg=/.exec(places) ?? [];
    const [, cgroup] = /,task_memcg=(.*)$/.exec(places) ?? [];
    const isSystem = constraint !== 'CONSTRAINT_MEMCG';
    this.report = { ...this.report, isSystem, cgroup, limitCgroup };
    return earlier;
  }

  private readKill(message: string): KernelOOM | undefined {
    const kill = /^(?:.*: )?Killed process (\d+)(?:, UID \d+,)? \((.*)\),? (total-vm:\d+kB.*)$/.exec(message);
    if (kill === null) return undefined;
    const [, pid, name = '', memory = ''] = kill;
    // If a whole cgroup is killed, the first process stands for all.
    if (this.latest?.isWholeCgroup === true) return undefined;
    const earlier = this.flush();
    const { report } = this;
    this.report = { ...noReport };
    this.latest = {
      pid: Number(pid),
      name,
      anonKi: kibOf(memory, 'anon-rss'),
      fileKi: kibOf(memory, 'file-rss'),
      shmemKi: kibOf(memory, 'shmem-rss'),
      ...report,
      isSystem: report.isSystem ?? true,
      isWholeCgroup: false,
    };
    return earlier;
  }
}

function kibOf(memory: string, name: string): number {
  return Number(new RegExp(`\\b${name}:(\\d+)kB`).exec(memory)?.[1] ?? 0);
}

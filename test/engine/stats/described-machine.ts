import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Writes files by path below a folder that goes with the test. Returns the folder. */
export async function describedTree(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await temporaryFolder();
  for (const [path, text] of Object.entries(files)) await writeAt(join(folder, path), text);
  return folder;
}

export async function writeAt(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

/** Mountinfo of these mounts, as `type path options`. */
export function mountInfo(...mounts: readonly string[]): string {
  return mounts
    .map((mount, index) => {
      const [type = '', path = '', options = 'rw'] = mount.split(' ');
      return `${index + 30} 1 0:${index + 30} / ${path} rw,relatime shared:1 - ${type} ${type} ${options}\n`;
    })
    .join('');
}

/** Files of one cgroup of version 1, by folder of the hierarchy. */
export function cgroupV1(cgroup: string, { cpuNanos = 0, memoryKiB = 0, limitKiB = 0, tasks = 0 } = {}) {
  const bytes = memoryKiB * 1024;
  return {
    [`cpuacct${cgroup}/cpuacct.usage`]: `${cpuNanos}\n`,
    [`memory${cgroup}/memory.usage_in_bytes`]: `${bytes}\n`,
    [`memory${cgroup}/memory.limit_in_bytes`]: limitKiB === 0 ? '9223372036854771712\n' : `${limitKiB * 1024}\n`,
    [`memory${cgroup}/memory.memsw.limit_in_bytes`]: '9223372036854771712\n',
    [`memory${cgroup}/memory.stat`]:
      'rss 1\npgfault 30\npgmajfault 2\ninactive_file 7\ntotal_rss 2048\ntotal_swap 512\n' +
      `total_pgfault 99\ntotal_inactive_file ${bytes / 4}\n`,
    [`memory${cgroup}/cgroup.procs`]: '',
    [`pids${cgroup}/pids.current`]: `${tasks}\n`,
  };
}

/** Further files of one cgroup of version 1, for its details. */
export function cgroupDetailsV1(cgroup: string) {
  const stat = { rss: 1, pgfault: 30, pgmajfault: 2, total_rss: 2048, total_swap: 512, total_cache: 4096 };
  const files = { total_mapped_file: 1024, total_active_file: 256, total_inactive_file: 128 };
  const lines = Object.entries({ ...stat, ...files }).map(([key, value]) => `${key} ${value}\n`);
  const blkio = `blkio${cgroup}/blkio.throttle`;
  return {
    [`cpuacct${cgroup}/cpuacct.stat`]: 'user 250\nsystem 50\n',
    [`cpu${cgroup}/cpu.stat`]: 'nr_periods 10\nnr_throttled 4\nthrottled_time 500000000\n',
    [`cpu${cgroup}/cpu.cfs_quota_us`]: '50000\n',
    [`cpu${cgroup}/cpu.cfs_period_us`]: '100000\n',
    [`cpu${cgroup}/cpu.shares`]: '512\n',
    [`memory${cgroup}/memory.stat`]: lines.join(''),
    [`memory${cgroup}/memory.kmem.usage_in_bytes`]: '64\n',
    [`memory${cgroup}/memory.max_usage_in_bytes`]: '99999\n',
    [`memory${cgroup}/memory.failcnt`]: '3\n',
    [`memory${cgroup}/memory.oom_control`]: 'oom_kill_disable 0\nunder_oom 0\noom_kill 1\n',
    [`memory${cgroup}/memory.soft_limit_in_bytes`]: '9223372036854771712\n',
    [`pids${cgroup}/pids.max`]: 'max\n',
    [`${blkio}.io_service_bytes_recursive`]: '8:0 Read 4096\n8:0 Write 512\n8:0 Sync 4608\nTotal 4608\n',
    [`${blkio}.io_serviced_recursive`]: '8:0 Read 2\n8:0 Write 1\nTotal 3\n',
  };
}

/** Further files of one cgroup of version 2, for its details. */
export function cgroupDetailsV2(cgroup: string) {
  const times = 'usage_usec 3000000\nuser_usec 2500000\nsystem_usec 500000\n';
  return {
    [`${cgroup}/cpu.stat`]: `${times}nr_periods 10\nnr_throttled 4\nthrottled_usec 500000\n`,
    [`${cgroup}/cpu.max`]: '50000 100000\n',
    [`${cgroup}/cpu.weight`]: '20\n',
    [`${cgroup}/memory.stat`]:
      'anon 2048\nfile 4096\nkernel 64\nfile_mapped 1024\nactive_file 256\ninactive_file 128\npgfault 30\npgmajfault 2\n',
    [`${cgroup}/memory.peak`]: '99999\n',
    [`${cgroup}/memory.events`]: 'low 0\nhigh 0\nmax 3\noom 2\noom_kill 1\n',
    [`${cgroup}/memory.high`]: 'max\n',
    [`${cgroup}/pids.max`]: 'max\n',
    [`${cgroup}/io.stat`]: '8:0 rbytes=4096 wbytes=512 rios=2 wios=1 dbytes=0 dios=0\n7:1 \n',
  };
}

/** Files of one cgroup of version 2. */
export function cgroupV2(cgroup: string, { cpuMicros = 0, memoryKiB = 0, limitKiB = 0, tasks = 0 } = {}) {
  const bytes = memoryKiB * 1024;
  const pressure = 'some avg10=1.50 avg60=0.50 avg300=0.00 total=77\nfull avg10=0.25 avg60=0.00 avg300=0.00 total=7\n';
  return {
    [`${cgroup}/cpu.stat`]: `usage_usec ${cpuMicros}\nuser_usec 1\nsystem_usec 1\n`,
    [`${cgroup}/memory.current`]: `${bytes}\n`,
    [`${cgroup}/memory.max`]: limitKiB === 0 ? 'max\n' : `${limitKiB * 1024}\n`,
    [`${cgroup}/memory.swap.current`]: '512\n',
    [`${cgroup}/memory.swap.max`]: 'max\n',
    [`${cgroup}/memory.stat`]: `anon 2048\nfile 4096\ninactive_file ${bytes / 4}\npgfault 30\npgmajfault 2\n`,
    [`${cgroup}/pids.current`]: `${tasks}\n`,
    [`${cgroup}/cgroup.procs`]: '',
    [`${cgroup}/cpu.pressure`]: pressure,
    [`${cgroup}/memory.pressure`]: pressure,
    [`${cgroup}/io.pressure`]: pressure,
  };
}

/** Files of /proc of a machine with 1 MiB of memory and 64 KiB of swap. */
export const procFiles = {
  stat: 'cpu 1 2 3\nbtime 1735600000\n',
  meminfo:
    'MemTotal: 1024 kB\nMemFree: 256 kB\nInactive(file): 128 kB\nAnonPages: 64 kB\nSwapTotal: 64 kB\nSwapFree: 48 kB\n',
  loadavg: '0.10 0.20 0.30 2/321 4567\n',
  'sys/kernel/pid_max': '4194304\n',
  'sys/kernel/threads-max': '32768\n',
  diskstats:
    '   8       0 sda 10 1 80 500 20 2 160 1500 1 2000 2500 0 0 0 0 0 0\n   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0\n',
  '4242/limits':
    'Limit Soft Limit Hard Limit Units\nMax open files            1024                 4096                 files\n',
  '1/net/dev': netDev(['lo', 1, 0, 1, 0], ['eth0', 100, 1, 200, 2], ['veth12', 5, 0, 5, 0]),
  '4242/net/dev': netDev(['lo', 1, 0, 1, 0], ['eth0', 10, 0, 20, 0]),
};

/** Rows are name, bytes received, errors, bytes sent, errors. */
export function netDev(...rows: readonly (readonly [string, number, number, number, number])[]): string {
  const lines = rows.map(([name, rx, rxErrors, tx, txErrors]) => {
    return `${name.padStart(6)}: ${rx} 1 ${rxErrors} 0 0 0 0 0 ${tx} 1 ${txErrors} 0 0 0 0 0\n`;
  });
  return `Inter-|   Receive | Transmit\n face |bytes packets errs|bytes packets errs\n${lines.join('')}`;
}

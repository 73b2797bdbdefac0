import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '../../temporary-folder.ts';

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

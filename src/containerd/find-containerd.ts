import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { execa } from 'execa';
import { UserError } from '../errors.ts';
import { findProgram, searchFolders } from '../process/find-program.ts';
import { type ContainerdVersion, isAtLeast, parseContainerdVersion } from './containerd-version.ts';

/** The containerd of this machine and the programs it needs. All paths are absolute. */
export interface InstalledContainerd {
  readonly containerd: string;
  readonly version: ContainerdVersion;
  /** containerd's own client, which imports images. Alpine and openSUSE ship it in a separate package. */
  readonly ctr: string | undefined;
  /** `runc`, or `crun` if there is no runc and the machine has cgroup v2. */
  readonly ociRuntime: string;
}

export interface FindContainerdOptions {
  /** Folders to search before the usual ones, in the format of $PATH. */
  readonly path?: string | undefined;
  /** Folders to search instead of the usual ones. */
  readonly folders?: readonly string[];
  readonly osReleaseFile?: string;
  readonly cgroup?: CgroupMode;
}

/** Finds an installed containerd with CRI v1 (1.6 or newer), its shim, and an OCI runtime. Runs only `--version`. */
export async function findContainerd(options: FindContainerdOptions = {}): Promise<InstalledContainerd> {
  const { path = process.env['PATH'], folders = searchFolders(path), osReleaseFile = '/etc/os-release' } = options;
  const hint = generateInstallHint(await readFile(osReleaseFile, 'utf8').catch(() => ''));

  const containerd = await findProgram('containerd', folders);
  if (containerd === undefined) throw new UserError('containerd is not installed on this machine', { hint });
  const nearby = [dirname(containerd), ...folders];
  const [version, shim, ctr, ociRuntime] = await Promise.all([
    versionOf(containerd),
    findProgram('containerd-shim-runc-v2', nearby),
    findProgram('ctr', nearby),
    findOciRuntime(folders, options.cgroup),
  ]);
  if (!isAtLeast(version, 1, 6)) {
    throw new UserError(`${containerd} is version ${version.text}, which has no CRI v1`, {
      hint: 'Install containerd 1.6 or newer.',
    });
  }
  if (shim === undefined)
    throw new UserError(`${containerd} has no containerd-shim-runc-v2 next to it or on PATH`, { hint });
  if (ociRuntime === undefined)
    throw new UserError('No runc is installed, which containerd needs to start containers', { hint });
  return { containerd, version, ctr, ociRuntime };
}

async function findOciRuntime(folders: readonly string[], cgroup: CgroupMode | undefined): Promise<string | undefined> {
  const runc = await findProgram('runc', folders);
  if (runc !== undefined) return runc;
  // crun does not support machines with cgroup v1 or hybrid mode.
  return (cgroup ?? (await readCgroupMode())) === 'v2' ? findProgram('crun', folders) : undefined;
}

async function versionOf(containerd: string): Promise<ContainerdVersion> {
  const { stdout, stderr, failed, shortMessage } = await execa(containerd, ['--version'], {
    timeout: 10_000,
    reject: false,
  });
  // A program in Go that gets no thread prints the reason and then a trace of many lines.
  if (failed) {
    const [reason = ''] = stderr.trim().split('\n');
    throw new UserError(`${containerd} does not run: ${reason === '' ? String(shortMessage) : reason}`);
  }
  const version = parseContainerdVersion(stdout);
  if (version === undefined)
    throw new UserError(`${containerd} --version printed ${JSON.stringify(stdout)}, which has no version`);
  return version;
}

/** `hybrid` is v1 plus a v2 mount without controllers. */
export type CgroupMode = 'v1' | 'hybrid' | 'v2';

/** Returns the cgroup mode. `mounts` is the content of /proc/self/mounts. */
export function computeCgroupMode(mounts: string): CgroupMode {
  const cgroups = mounts
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, target]) => target === '/sys/fs/cgroup' || target?.startsWith('/sys/fs/cgroup/'));
  const unified = cgroups.filter(([, , type]) => type === 'cgroup2');
  if (unified.some(([, target]) => target === '/sys/fs/cgroup')) return 'v2';
  return unified.length > 0 ? 'hybrid' : 'v1';
}

/** The cgroup mode of this machine. */
async function readCgroupMode(): Promise<CgroupMode> {
  return computeCgroupMode(await readFile('/proc/self/mounts', 'utf8'));
}

/** Tells in one sentence how to install containerd. `osRelease` is the content of /etc/os-release. */
export function generateInstallHint(osRelease: string): string {
  const ids = distributionIds(osRelease);
  const known = instructions.find(({ id }) => ids.includes(id));
  return known === undefined
    ? 'Install containerd, runc and the CNI plugins with the package manager of this machine.'
    : `Install it with: ${known.command}`;
}

const instructions: readonly { id: string; command: string }[] = [
  { id: 'debian', command: 'apt-get install containerd runc containernetworking-plugins' },
  { id: 'ubuntu', command: 'apt-get install containerd runc containernetworking-plugins' },
  {
    id: 'rhel',
    command: "dnf install containerd.io containernetworking-plugins (containerd.io is in Docker's repository)",
  },
  { id: 'fedora', command: 'dnf install containerd runc containernetworking-plugins' },
  { id: 'alpine', command: 'apk add containerd containerd-ctr runc cni-plugins' },
  { id: 'suse', command: 'zypper install containerd containerd-ctr runc cni-plugins' },
  { id: 'arch', command: 'pacman -S containerd runc cni-plugins' },
];

/** Returns the ID, then the similar ones: Rocky has `ID="rocky"` and `ID_LIKE="rhel centos fedora"`. */
function distributionIds(osRelease: string): string[] {
  const valueOf = (key: string): string => new RegExp(`^${key}=["']?([^"'\n]*)`, 'm').exec(osRelease)?.[1] ?? '';
  return `${valueOf('ID')} ${valueOf('ID_LIKE')}`.split(/\s+/).filter((id) => id !== '');
}

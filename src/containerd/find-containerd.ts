import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { errorMessage, UserError } from '../errors.ts';
import { readCgroupMode, type CgroupMode } from './cgroup-mode.ts';
import { isAtLeast, parseContainerdVersion, type ContainerdVersion } from './containerd-version.ts';
import { generateInstallHint } from './install-hint.ts';

/** The containerd of this machine and what it needs beside it. Every path is absolute. */
export interface InstalledContainerd {
  readonly containerd: string;
  readonly version: ContainerdVersion;
  /** Its own client, which imports images. Alpine and openSUSE package it apart. */
  readonly ctr: string | undefined;
  /** `runc`, or `crun` when there is no other and the machine has cgroup v2. */
  readonly ociRuntime: string;
}

export interface FindContainerdOptions {
  /** Folders to look in before the usual ones, as $PATH has them. */
  readonly path?: string | undefined;
  /** Folders to look in instead. */
  readonly folders?: readonly string[];
  readonly osReleaseFile?: string;
  readonly cgroup?: CgroupMode;
}

const usualFolders = [
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/sbin',
  '/usr/bin',
  '/sbin',
  '/bin',
  '/opt/containerd/bin',
];

/** Looks for an installed containerd that has CRI v1 (1.6 or newer), its shim, and an OCI runtime. Runs nothing but `--version`. */
export async function findContainerd(options: FindContainerdOptions = {}): Promise<InstalledContainerd> {
  const { path = process.env['PATH'], folders = searchFolders(path), osReleaseFile = '/etc/os-release' } = options;
  const hint = generateInstallHint(await readFile(osReleaseFile, 'utf8').catch(() => ''));

  const containerd = await findProgram('containerd', folders);
  if (containerd === undefined) throw new UserError('containerd is not installed on this machine', { hint });
  const beside = [dirname(containerd), ...folders];
  const [version, shim, ctr, ociRuntime] = await Promise.all([
    versionOf(containerd),
    findProgram('containerd-shim-runc-v2', beside),
    findProgram('ctr', beside),
    findOciRuntime(folders, options.cgroup),
  ]);
  if (!isAtLeast(version, 1, 6)) {
    throw new UserError(`${containerd} is version ${version.text}, which has no CRI v1`, {
      hint: 'Install containerd 1.6 or newer.',
    });
  }
  if (shim === undefined)
    throw new UserError(`${containerd} has no containerd-shim-runc-v2 beside it or on PATH`, { hint });
  if (ociRuntime === undefined)
    throw new UserError('No runc is installed, which containerd needs to start containers', { hint });
  return { containerd, version, ctr, ociRuntime };
}

/** Folders of a $PATH followed by the usual ones: services and sudo often run with a PATH that has no sbin. */
export function searchFolders(path: string | undefined): string[] {
  const given = (path ?? '').split(':').filter((folder) => folder.startsWith('/'));
  return [...new Set([...given, ...usualFolders])];
}

async function findOciRuntime(folders: readonly string[], cgroup: CgroupMode | undefined): Promise<string | undefined> {
  const runc = await findProgram('runc', folders);
  if (runc !== undefined) return runc;
  // crun refuses cgroup v1 and hybrid machines.
  return (cgroup ?? (await readCgroupMode())) === 'v2' ? findProgram('crun', folders) : undefined;
}

async function findProgram(name: string, folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) {
    const path = join(folder, name);
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return path;
  }
  return undefined;
}

async function versionOf(containerd: string): Promise<ContainerdVersion> {
  const { stdout } = await execa(containerd, ['--version'], { timeout: 10_000 }).catch((cause: unknown) => {
    throw new UserError(`${containerd} does not run: ${errorMessage(cause)}`, { cause });
  });
  const version = parseContainerdVersion(stdout);
  if (version === undefined)
    throw new UserError(`${containerd} --version says ${JSON.stringify(stdout)}, which names no version`);
  return version;
}

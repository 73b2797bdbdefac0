import { execFileSync } from 'node:child_process';
import { delimiter, join, resolve, sep } from 'node:path';
import type { ContainerdVersion } from '../src/containerd/containerd-version.ts';
import { findContainerd, type InstalledContainerd } from '../src/containerd/find-containerd.ts';
import { UserError } from '../src/errors.ts';

/**
 * Returns the containerd that `--containerd` names: `installed`, a folder created by scripts/fetch-program, or a
 * release such as `1.6` or `2`. A release is fetched unless installed. Throws a `UserError` if it is not available.
 */
export async function findRelease(name: string): Promise<InstalledContainerd> {
  if (name === 'installed') return findContainerd();
  if (name.includes(sep)) return inFolder(name);
  const installed = await findContainerd().catch(() => undefined);
  return installed !== undefined && isOf(installed.version, name) ? installed : inFolder(fetched(name));
}

function inFolder(folder: string): Promise<InstalledContainerd> {
  return findContainerd({ path: [resolve(folder, 'usr/bin'), process.env['PATH'] ?? ''].join(delimiter) });
}

const isOf = ({ major, minor }: ContainerdVersion, release: string): boolean =>
  [`${major}`, `${major}.${minor}`].includes(release);

/** Fetches a release and returns the folder that it was unpacked into. */
function fetched(release: string): string {
  try {
    return execFileSync(join('scripts', 'fetch-program'), [`containerd-${release}`, '.cache'], {
      encoding: 'utf8',
    }).trim();
  } catch (cause) {
    throw new UserError(`containerd ${release} cannot be had here`, { cause });
  }
}

import { readMountInfo } from './mount-info.ts';

export interface Mount {
  /** A real path. */
  mountPoint: string;
  /** True if a mount or unmount below it also happens everywhere else that it is mounted. */
  isShared: boolean;
}

/** Reads all mounts that this process sees, in the order of mounting. */
export async function readMounts(): Promise<Mount[]> {
  const mountInfo = await readMountInfo();
  return mountInfo.split('\n').flatMap((line) => {
    const [facts = ''] = line.split(' - ');
    const [, , , , mountPoint, , ...tags] = facts.split(' ');
    if (mountPoint === undefined) return [];
    return [{ mountPoint: unescapeOctal(mountPoint), isShared: tags.some((tag) => tag.startsWith('shared:')) }];
  });
}

/** Reads all mount points that this process sees: real paths, in the order of mounting. */
export async function readMountPoints(): Promise<string[]> {
  return (await readMounts()).map(({ mountPoint }) => mountPoint);
}

/** The kernel writes space, tab, newline and backslash in mount points as `\040` and so on. */
function unescapeOctal(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_match, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/** Returns the mount point at or above a real path. */
export function mountPointOf(path: string, mountPoints: readonly string[]): string {
  const above = mountPoints.filter((mountPoint) => mountPoint === path || path.startsWith(`${mountPoint}/`));
  return above.reduce((longest, mountPoint) => (mountPoint.length > longest.length ? mountPoint : longest), '/');
}

import { readFile } from 'node:fs/promises';

export interface Mount {
  /** A real path. */
  mountPoint: string;
  /** What is mounted and unmounted below it is so too wherever else it is mounted. */
  isShared: boolean;
}

/** What is mounted, as this process sees it, in the order of the mounts. */
export async function readMounts(): Promise<Mount[]> {
  const mountInfo = await readFile('/proc/self/mountinfo', 'utf8');
  return mountInfo.split('\n').flatMap((line) => {
    const [facts = ''] = line.split(' - ');
    const [, , , , mountPoint, , ...tags] = facts.split(' ');
    if (mountPoint === undefined) return [];
    return [{ mountPoint: unescapeOctal(mountPoint), isShared: tags.some((tag) => tag.startsWith('shared:')) }];
  });
}

/** Where something is mounted, as this process sees it: real paths, in the order of the mounts. */
export async function readMountPoints(): Promise<string[]> {
  return (await readMounts()).map(({ mountPoint }) => mountPoint);
}

/** The kernel writes space, tab, newline and backslash in mount points as `\040` and so on. */
function unescapeOctal(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_match, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/** The mount point that a real path lies on. */
export function mountPointOf(path: string, mountPoints: readonly string[]): string {
  const above = mountPoints.filter((mountPoint) => mountPoint === path || path.startsWith(`${mountPoint}/`));
  return above.reduce((longest, mountPoint) => (mountPoint.length > longest.length ? mountPoint : longest), '/');
}

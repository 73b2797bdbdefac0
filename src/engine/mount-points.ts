import { readFile } from 'node:fs/promises';

/** Where something is mounted, as this process sees it: real paths, in the order of the mounts. */
export async function readMountPoints(): Promise<string[]> {
  const mountInfo = await readFile('/proc/self/mountinfo', 'utf8');
  return mountInfo.split('\n').flatMap((line) => {
    const mountPoint = line.split(' ')[4];
    return mountPoint === undefined ? [] : [unescapeOctal(mountPoint)];
  });
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

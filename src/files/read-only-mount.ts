/** A mount of this machine. `options` are those of the mount and of its file system. */
export interface Mount {
  readonly point: string;
  readonly options: readonly string[];
}

/** Returns the mount point of the file system of `path` if the kernel refuses writes to it. */
export function findReadOnlyMount(path: string, mountInfo: string): string | undefined {
  const mount = findMount(path, mountInfo);
  return mount?.options.some((option) => option === 'ro' || option === 'emergency_ro') ? mount.point : undefined;
}

/**
 * Returns the mount that `path` is on. `mountInfo` is the content of /proc/self/mountinfo; its lines have the mount's
 * options, and after ` - ` those of the file system.
 */
export function findMount(path: string, mountInfo: string): Mount | undefined {
  let found: Mount | undefined;
  for (const line of mountInfo.split('\n')) {
    const [mount = '', fileSystem = ''] = line.split(' - ');
    const [, , , , escaped = '', options = ''] = mount.split(' ');
    const point = unescaped(escaped);
    const isAbove = path === point || path.startsWith(point.endsWith('/') ? point : `${point}/`);
    // A later mount covers an earlier one, unless it is higher up.
    if (!isAbove || point === '' || point.length < (found?.point.length ?? 0)) continue;
    found = { point, options: [...options.split(','), ...(fileSystem.split(' ')[2] ?? '').split(',')] };
  }
  return found;
}

/** The kernel writes a space in a path as `\040`. */
export const unescaped = (path: string): string =>
  path.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

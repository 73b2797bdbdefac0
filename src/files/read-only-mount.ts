/**
 * Returns the mount point of the file system of `path` if the kernel refuses writes to it. `mountInfo` is the content
 * of /proc/self/mountinfo; its lines have the mount's options, and after ` - ` those of the file system.
 */
export function findReadOnlyMount(path: string, mountInfo: string): string | undefined {
  let found: { point: string; isReadOnly: boolean } | undefined;
  for (const line of mountInfo.split('\n')) {
    const [mount = '', fileSystem = ''] = line.split(' - ');
    const [, , , , escaped = '', options = ''] = mount.split(' ');
    const point = unescaped(escaped);
    const isAbove = path === point || path.startsWith(point.endsWith('/') ? point : `${point}/`);
    // A later mount covers an earlier one, unless it is higher up.
    if (!isAbove || point === '' || point.length < (found?.point.length ?? 0)) continue;
    const all = [...options.split(','), ...(fileSystem.split(' ')[2] ?? '').split(',')];
    found = { point, isReadOnly: all.some((option) => option === 'ro' || option === 'emergency_ro') };
  }
  return found?.isReadOnly === true ? found.point : undefined;
}

/** The kernel writes a space in a path as `\040`. */
export const unescaped = (path: string): string =>
  path.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

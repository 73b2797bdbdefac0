import { chmod, mkdir, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Volume } from '../../api/types.ts';
import { UserError } from '../../errors.ts';
import { pathExists } from '../path-exists.ts';
import { emptyDirMemoryBytes } from './empty-dir-size.ts';
import { isMountPoint, mountTmpfs } from './mounts.ts';

const plugin = 'kubernetes.io~empty-dir';

/**
 * Makes an emptyDir of a pod, on disk or in memory, and resolves to its path. One that was made before stays as the
 * containers left it; a marker beside it says that it was made to the end.
 * kubelet: pkg/volume/emptydir/empty_dir.go SetUpAt
 */
export async function setUpEmptyDir(
  podDir: string,
  name: string,
  { medium = '', sizeLimit }: NonNullable<Volume['emptyDir']>,
): Promise<string> {
  const path = join(podDir, 'volumes', plugin, name);
  const marker = join(podDir, 'plugins', plugin, name, 'ready');
  // A tmpfs is gone after a reboot, its marker is not.
  if ((await pathExists(marker)) && (medium !== 'Memory' || (await isMountPoint(path)))) return path;
  await mkdir(path, { recursive: true, mode: 0o750 });
  // mkdir is bound by the umask, chmod is not.
  await chmod(path, 0o777);
  switch (medium) {
    case '':
      break;
    case 'Memory':
      await mountTmpfs(path, emptyDirMemoryBytes(sizeLimit));
      break;
    default:
      await rmdir(path);
      throw new UserError(`volume "${name}": unknown storage medium "${medium}"`, {
        hint: 'emptyDir.medium may be empty or Memory.',
      });
  }
  await mkdir(dirname(marker), { recursive: true, mode: 0o750 });
  await writeFile(marker, '');
  return path;
}

import { join } from 'node:path';
import { parse } from 'smol-toml';
import { listFolder } from '../files/list-folder.ts';
import { readRegularFile } from '../files/regular-file.ts';
import { managedPaths } from './managed-paths.ts';
import { runtimesOf } from './merge-drop-ins.ts';
import { isDropIn, maxDropInBytes } from './read-drop-ins.ts';

/** The handlers that the managed containerd of a root-dir has when it is started, without those of broken drop-ins. */
export async function readManagedHandlers(rootDir: string): Promise<string[]> {
  const { dropIns } = managedPaths(rootDir);
  const names = (await listFolder(dropIns, 'ENOTDIR')).filter(isDropIn);
  const added = names.map(async (name) => {
    try {
      const bytes = await readRegularFile(join(dropIns, name), maxDropInBytes, { followLinks: true });
      return runtimesOf(parse(bytes.toString())).map((runtime) => runtime.name);
    } catch {
      // `run` and `doctor` report it.
      return [];
    }
  });
  return ['runc', ...(await Promise.all(added)).flat()];
}

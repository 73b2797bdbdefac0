import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { neededPlugins, usualBinDirs } from '../../containerd/cni-config.ts';
import { findContainerd } from '../../containerd/find-containerd.ts';
import { UserError } from '../../errors.ts';
import { ifPresent } from '../../files/if-present.ts';
import { listFolder } from '../../files/list-folder.ts';
import { findProgram, searchFolders } from '../../process/find-program.ts';

/** The file with the checksums of a bundle. It is written last. */
export const sumsName = 'SHA256SUMS';
export const ownName = 'kubelet-ts';
/** The folder of CNI plugins in a bundle. */
export const pluginsName = 'cni';

/** The names that files of a bundle may have. */
export const bundleNames = /^(?:cni\/)?\w[\w.+-]*$/;

/** A file of this machine, and its name in a bundle. */
export interface BundledFile {
  name: string;
  source: string;
}

/**
 * The programs of this machine that a bare one needs: containerd with its client and shim, the OCI runtime, and the CNI
 * plugins. Rejects with a `UserError` if one is missing.
 */
export async function programsOfMachine(): Promise<BundledFile[]> {
  const { containerd, ctr, ociRuntime } = await findContainerd();
  const shim = await findProgram(shimName, [dirname(containerd), ...searchFolders(process.env['PATH'])]);
  const plugins = await pluginsFolder();
  if (ctr === undefined || shim === undefined || plugins === undefined) {
    const missing = ctr === undefined ? 'ctr of containerd' : shim === undefined ? shimName : 'CNI plugins';
    throw new UserError(`a bundle with programs needs ${missing}, which this machine lacks`, {
      hint: 'Install it, such as with apt-get install containerd containernetworking-plugins.',
    });
  }
  return [
    { name: 'containerd', source: containerd },
    { name: 'ctr', source: ctr },
    { name: shimName, source: shim },
    { name: ociRuntime.endsWith('crun') ? 'crun' : 'runc', source: ociRuntime },
    ...(await pluginsIn(plugins)),
  ];
}

/** The CNI plugins in a folder, which packages give hidden files and people subfolders. */
export async function pluginsIn(folder: string): Promise<BundledFile[]> {
  const found: BundledFile[] = [];
  for (const base of (await listFolder(folder)).sort()) {
    const [name, source] = [join(pluginsName, base), join(folder, base)];
    if (bundleNames.test(name) && (await ifPresent(stat(source)))?.isFile() === true) found.push({ name, source });
  }
  return found;
}

const shimName = 'containerd-shim-runc-v2';

/** The first folder that has the plugins of a pod network. Returns undefined if none has. */
export async function pluginsFolder(folders: readonly string[] = usualBinDirs): Promise<string | undefined> {
  for (const folder of folders) {
    const plugins = await listFolder(folder);
    if (neededPlugins.every((name) => plugins.includes(name))) return folder;
  }
  return undefined;
}

import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { setAside } from '../files/set-aside.ts';
import type { Logger } from '../logger.ts';

/** Folders of a root-dir that only the agent fills, the outer ones first. */
const folders = [
  ...['applied', 'cni', 'cni/net.d', 'containerd', 'containerd/root', 'containerd/state', 'device-plugins'],
  ...['image_manager', 'manifests-last-good', 'plugins', 'plugins_registry', 'pod-resources', 'pods', 'volumes'],
  ...['state', 'state/history', 'state/operations', 'state/status-urls', 'state/workloads'],
] as const;

/** Files whose place a folder may have. Other files of the agent are set aside when they are read. */
const files = ['containerd/config.toml'] as const;

/**
 * Renames files in the place of folders and the reverse, as a repair of the file system can leave them: nothing could
 * start. Never rejects.
 */
export async function setAsideMisplaced(rootDir: string, logger: Pick<Logger, 'warn'>): Promise<void> {
  for (const name of folders) {
    const path = join(rootDir, name);
    const stats = await lstat(path).catch(() => undefined);
    if (stats?.isFile() === true) await setAside(path, 'it is a file where a folder belongs', logger);
  }
  for (const name of files) {
    const path = join(rootDir, name);
    const stats = await lstat(path).catch(() => undefined);
    if (stats?.isDirectory() === true) await setAside(path, 'it is a folder where a file belongs', logger);
  }
}

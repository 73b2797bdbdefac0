import { randomInt } from 'node:crypto';
import * as fileSystem from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hasCode, UserError } from '../../errors.ts';
import { ifPresent } from '../../files/if-present.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import { type VolumeContent, validateContent } from './volume-content.ts';

/** File operations of the writer, for tests. */
export type FileOperations = Pick<
  typeof fileSystem,
  'chmod' | 'lstat' | 'mkdir' | 'readdir' | 'readlink' | 'rename' | 'rm' | 'symlink' | 'writeFile'
>;

interface WriteOptions {
  /** Milliseconds since the epoch, for the name of this revision's folder. */
  now: number;
  /** Called after the files are written, before they become visible. */
  setPermissions?: () => Promise<void>;
  files?: FileOperations;
}

/** Link to the folder of the current revision. */
const dataLink = '..data';
const newDataLink = '..data_tmp';

/**
 * Writes the content of a volume; all files become visible at once. Resolves with false, without a write, if they are
 * up to date. kubelet: pkg/volume/util/atomic_writer.go Write
 *
 *     ..2024_06_01_10_00_00.123456/app.conf     the files of one revision
 *     ..data -> ..2024_06_01_10_00_00.123456    the current revision, swapped by a rename
 *     app.conf -> ..data/app.conf               the files that containers read
 *
 * INVARIANTS: `..data` always leads to a complete revision. The next call repairs what a crash left. Nothing is synced
 * to disk, because after a power cut the next call detects wrong content. Only one call at a time may write to a
 * folder.
 */
export async function writeContent(folder: string, content: VolumeContent, options: WriteOptions): Promise<boolean> {
  const { files = fileSystem } = options;
  const clean = validateContent(content);
  const unlinked = await unlinkedNames(folder, clean, files);
  const current = await currentRevision(folder, files);
  const isUpToDate = current !== undefined && (await holdsExactly(join(folder, current), clean, files));
  const revision = isUpToDate ? current : await writeRevision(folder, clean, options);
  for (const name of unlinked) await files.symlink(join(dataLink, name), join(folder, name));
  await removeLeftovers(folder, revision, clean, files);
  return !isUpToDate;
}

/** True if the content was written completely and every file has the link that containers read. */
export async function hasCompleteContent(folder: string): Promise<boolean> {
  const names = await ifPresent(fileSystem.readdir(join(folder, dataLink)));
  if (names === undefined) return false;
  for (const name of names) if (!(await isLinked(folder, name, fileSystem))) return false;
  return true;
}

function currentRevision(folder: string, { readlink }: FileOperations): Promise<string | undefined> {
  return ifPresent(readlink(join(folder, dataLink)));
}

async function writeRevision(folder: string, content: VolumeContent, options: WriteOptions): Promise<string> {
  const { now, setPermissions, files = fileSystem } = options;
  const revision = `..${timestamp(now)}.${randomInt(2 ** 32)}`;
  const path = join(folder, revision);
  const link = join(folder, newDataLink);
  try {
    await writeFiles(path, content, files);
    await setPermissions?.();
    await files.rm(link, { recursive: true, force: true });
    await files.symlink(revision, link);
    await files.rename(link, join(folder, dataLink));
  } catch (error) {
    // Otherwise each attempt on a full disk would leave a folder.
    await files.rm(path, { recursive: true, force: true });
    throw error;
  }
  return revision;
}

async function writeFiles(folder: string, content: VolumeContent, files: FileOperations): Promise<void> {
  await files.mkdir(folder);
  // The umask limits mkdir, but not chmod.
  await files.chmod(folder, 0o755);
  for (const [name, { data, mode }] of content) {
    const file = join(folder, name);
    await files.mkdir(dirname(file), { recursive: true, mode: 0o755 });
    await files.writeFile(file, data, { mode });
    await files.chmod(file, mode);
  }
}

/** For example `2024_06_01_10_00_00`, in UTC. */
function timestamp(now: number): string {
  return new Date(now).toISOString().slice(0, 19).replaceAll(/[-T:]/g, '_');
}

async function holdsExactly(path: string, content: VolumeContent, files: FileOperations): Promise<boolean> {
  try {
    const names = await filesBelow(path, files);
    if (names.length !== content.size) return false;
    for (const name of names) {
      const wanted = content.get(name);
      if (wanted === undefined || !(await isWritten(join(path, name), wanted, files))) return false;
    }
    return true;
  } catch (error) {
    // Another program changed the volume, so it is written again.
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'EISDIR')) return false;
    throw error;
  }
}

async function isWritten(
  file: string,
  { data, mode }: { data: Uint8Array; mode: number },
  files: FileOperations,
): Promise<boolean> {
  const stats = await files.lstat(file);
  if (!stats.isFile() || (stats.mode & 0o7777) !== mode || stats.size !== data.length) return false;
  return (await readRegularFile(file, data.length)).equals(data);
}

/** Paths of all entries below a folder other than folders. */
async function filesBelow(path: string, files: FileOperations, prefix = ''): Promise<string[]> {
  const entries = await files.readdir(path, { withFileTypes: true });
  const found = entries.map((entry) =>
    entry.isDirectory()
      ? filesBelow(join(path, entry.name), files, `${prefix}${entry.name}/`)
      : Promise.resolve([`${prefix}${entry.name}`]),
  );
  return (await Promise.all(found)).flat();
}

/** Top-level names without a link into the current revision. Rejects if another entry has one of these names. */
async function unlinkedNames(folder: string, content: VolumeContent, files: FileOperations): Promise<string[]> {
  const unlinked: string[] = [];
  for (const name of topLevelNames(content)) {
    if (await isLinked(folder, name, files)) continue;
    if ((await linkTarget(join(folder, name), files)) !== undefined) {
      throw new UserError(`"${name}" is both a file of the volume and the mount point of another volume`);
    }
    unlinked.push(name);
  }
  return unlinked;
}

async function isLinked(folder: string, name: string, files: FileOperations): Promise<boolean> {
  return (await linkTarget(join(folder, name), files)) === join(dataLink, name);
}

/** Resolves with undefined if the path is missing. */
async function linkTarget(path: string, { readlink }: FileOperations): Promise<string | undefined> {
  try {
    return await ifPresent(readlink(path));
  } catch (error) {
    if (hasCode(error, 'EINVAL')) return 'no link';
    throw error;
  }
}

const topLevelNames = (content: VolumeContent): Set<string> =>
  new Set([...content.keys()].map((path) => path.split('/')[0] ?? path));

/** Removes links to missing files, and all old revisions. */
async function removeLeftovers(
  folder: string,
  revision: string,
  content: VolumeContent,
  files: FileOperations,
): Promise<void> {
  const names = topLevelNames(content);
  for (const name of await files.readdir(folder)) {
    const path = join(folder, name);
    if (name.startsWith('..')) {
      if (name !== dataLink && name !== revision) await files.rm(path, { recursive: true, force: true });
    } else if (!names.has(name) && (await linkTarget(path, files))?.startsWith(`${dataLink}/`)) {
      await files.rm(path);
    }
  }
}

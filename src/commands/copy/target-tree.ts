import { constants } from 'node:fs';
import { chmod, type FileHandle, link, lstat, mkdir, open, realpath, symlink, unlink } from 'node:fs/promises';
import { OpenFolder } from '../../engine/host/open-folder.ts';
import { hasCode, UserError } from '../../errors.ts';
import { visible } from '../../text/visible-text.ts';

/*
 * INVARIANTS: an archive from a container is hostile. Each folder is opened inside its parent and must not be a link,
 * so nothing is created outside the target, even if the tree changes meanwhile. An entry in the way of a file or link
 * is removed, never written into. Names are bytes, one character per byte.
 */

/** Each level keeps one file descriptor open. */
const maxDepth = 256;
/**
 * Without set-user-ID and set-group-ID bits, which would run a program of the container with the rights of this user.
 */
const permissionBits = 0o777;
const smallestHoleBytes = 4096;

interface Level {
  name: string;
  folder: OpenFolder;
  /** Permissions to set once the folder is complete. */
  mode: number | undefined;
}

/** Creates files, folders and links below a folder. The caller closes it. */
export class TargetTree {
  /** The open folders on the path of the last entry. Archives list the entries of a folder together. */
  private readonly levels: Level[] = [];

  private constructor(private readonly root: OpenFolder) {}

  /** Follows links on the way to the folder, because the user named it. */
  static async open(folder: string): Promise<TargetTree> {
    return new TargetTree(await OpenFolder.open(await realpath(folder)));
  }

  async close(): Promise<void> {
    try {
      await this.leave(0);
    } finally {
      for (const { folder } of this.levels.splice(0)) await folder.close();
      await this.root.close();
    }
  }

  /** Creates a folder, unless it exists. An existing one keeps its permissions. */
  async createFolder(names: readonly string[], mode: number): Promise<void> {
    await this.enter(names);
    const level = this.levels.at(-1);
    if (level?.mode !== undefined) level.mode = mode & permissionBits;
  }

  /** Creates a file with these bytes. Long runs of zeros become holes. Removes the file if its content breaks off. */
  async createFile(
    names: readonly string[],
    { mode, modifiedSeconds }: { mode: number; modifiedSeconds: number },
    content: AsyncIterable<Buffer>,
  ): Promise<void> {
    const path = await this.clear(names);
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const file = await open(path, flags, 0o600);
    try {
      await writeWithHoles(file, content);
      await file.chmod(mode & permissionBits);
      await file.utimes(modifiedSeconds, modifiedSeconds);
    } catch (error) {
      await unlink(path).catch(() => undefined);
      throw error;
    } finally {
      await file.close();
    }
  }

  /** Creates a symbolic link with this target, which is never followed. */
  async createLink(names: readonly string[], target: string): Promise<void> {
    await symlink(Buffer.from(target, 'latin1'), await this.clear(names));
  }

  /** Creates a hard link to a file in the target. */
  async createHardLink(names: readonly string[], existing: readonly string[]): Promise<void> {
    const { folder, path } = await this.existing(existing);
    try {
      await link(path, await this.clear(names));
    } finally {
      await folder.close();
    }
  }

  /** Prepares the path of a new entry: creates its folder, and removes an old entry of that name. */
  private async clear(names: readonly string[]): Promise<Buffer> {
    await this.enter(names.slice(0, -1));
    const path = this.folder.at(names.at(-1) ?? '');
    try {
      if ((await lstat(path)).isDirectory())
        throw new UserError(`${shown(names)} is a folder here but not in the source`);
      await unlink(path);
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error;
    }
    return path;
  }

  private async existing(names: readonly string[]): Promise<{ folder: OpenFolder; path: Buffer }> {
    let folder = await OpenFolder.open(this.root.at('.'));
    try {
      for (const name of names.slice(0, -1)) {
        const next = await openFolder(folder.at(name), names);
        await folder.close();
        folder = next;
      }
      return { folder, path: folder.at(names.at(-1) ?? '') };
    } catch (error) {
      await folder.close();
      throw error;
    }
  }

  private get folder(): OpenFolder {
    return this.levels.at(-1)?.folder ?? this.root;
  }

  /** Opens the folder of these names, and creates the missing ones. */
  private async enter(names: readonly string[]): Promise<void> {
    if (names.length > maxDepth) throw new UserError(`folders are nested more than ${maxDepth} deep: ${shown(names)}`);
    const shared = this.levels.findIndex(({ name }, index) => name !== names[index]);
    await this.leave(shared === -1 ? this.levels.length : shared);
    if (this.levels.length > names.length) await this.leave(names.length);
    for (const name of names.slice(this.levels.length)) {
      const path = this.folder.at(name);
      const isNew = await makeFolder(path);
      this.levels.push({ name, folder: await openFolder(path, names), mode: isNew ? 0o755 : undefined });
    }
  }

  private async leave(depth: number): Promise<void> {
    while (this.levels.length > depth) {
      const level = this.levels.at(-1);
      if (level?.mode !== undefined) await chmod(level.folder.at('.'), level.mode);
      this.levels.pop();
      await level?.folder.close();
    }
  }
}

async function makeFolder(path: Buffer): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

async function openFolder(path: Buffer, names: readonly string[]): Promise<OpenFolder> {
  try {
    return await OpenFolder.open(path);
  } catch (error) {
    if (!hasCode(error, 'ELOOP', 'ENOTDIR')) throw error;
    throw new UserError(`${shown(names)} leads through a link or a file`, {
      hint: 'Links are never followed. Copy into an empty folder.',
    });
  }
}

async function writeWithHoles(file: FileHandle, content: AsyncIterable<Buffer>): Promise<void> {
  let position = 0;
  for await (const chunk of content) {
    if (chunk.length < smallestHoleBytes || !isZero(chunk)) await file.write(chunk, 0, chunk.length, position);
    position += chunk.length;
  }
  await file.truncate(position);
}

function isZero(chunk: Buffer): boolean {
  return chunk[0] === 0 && chunk.subarray(1).equals(chunk.subarray(0, -1));
}

const shown = (names: readonly string[]): string =>
  visible(Buffer.from(names.join('/'), 'latin1').toString('utf8').slice(0, 200));

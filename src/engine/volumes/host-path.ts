import { open, stat } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import type { Volume } from '../../api/types.ts';
import { hasCode, UserError } from '../../errors.ts';
import { ifPresent } from '../../files/if-present.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { HungPathError, type PathGuard } from '../host/path-guard.ts';
import type { VolumeMounter } from './volume-mounter.ts';

interface Kind {
  is: (stats: Stats) => boolean;
  noun: string;
  create?: (path: string) => Promise<void>;
}

/** kubelet: pkg/volume/hostpath/host_path.go checkTypeInternal */
const kinds: Record<string, Kind> = {
  Directory: { is: (stats) => stats.isDirectory(), noun: 'directory' },
  DirectoryOrCreate: {
    is: (stats) => stats.isDirectory(),
    noun: 'directory',
    create: async (path) => {
      await makeFolder(path, 0o755);
    },
  },
  File: { is: (stats) => stats.isFile(), noun: 'file' },
  FileOrCreate: {
    is: (stats) => stats.isFile(),
    noun: 'file',
    create: async (path) => {
      try {
        // 'ax' does not create the target of a dangling link, because another user may have made the link.
        await (await open(path, 'ax', 0o644)).close();
      } catch (error) {
        if (!hasCode(error, 'EEXIST')) throw error;
      }
    },
  },
  Socket: { is: (stats) => stats.isSocket(), noun: 'socket file' },
  CharDevice: { is: (stats) => stats.isCharacterDevice(), noun: 'character device' },
  BlockDevice: { is: (stats) => stats.isBlockDevice(), noun: 'block device' },
};

/** Mounts a path of the host. */
export function hostPathVolume(
  source: NonNullable<Volume['hostPath']>,
  { paths }: { paths: PathGuard },
): VolumeMounter {
  const mount = { hostPath: source.path, readOnly: false, managed: false };
  return { mount, setUp: () => checkHostPathInTime(source, paths) };
}

/** Like `checkHostPath`, but also rejects with a `UserError` if the file system hangs. */
export async function checkHostPathInTime(source: NonNullable<Volume['hostPath']>, paths: PathGuard): Promise<void> {
  const { path, type = '' } = source;
  if (kinds[type] === undefined) return;
  await failIfHung(
    `hostPath ${path} cannot be checked`,
    paths.run(path, () => checkHostPath(source)),
  );
}

/** Waits for `work`. If its file system hangs, rejects with a `UserError` that begins with `problem`. */
export async function failIfHung(problem: string, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof HungPathError)) throw error;
    throw new UserError(`${problem}: ${error.message}`, {
      hint: 'Check the server of this file system. The pod starts once it answers.',
      cause: error,
    });
  }
}

/**
 * Checks that the path has this type. Creates a missing path of an …OrCreate type. Does nothing if the type is empty.
 */
export async function checkHostPath({ path, type = '' }: NonNullable<Volume['hostPath']>): Promise<void> {
  const kind = kinds[type];
  if (kind === undefined) return;
  let stats = await ifPresent(stat(path));
  if (stats === undefined && kind.create !== undefined) {
    await kind.create(path);
    stats = await ifPresent(stat(path));
  }
  if (stats === undefined || !kind.is(stats)) {
    throw new UserError(`hostPath type check failed: ${path} is not a ${kind.noun}`, {
      hint: `Create it on this machine, or change hostPath.type (now ${type}).`,
    });
  }
}

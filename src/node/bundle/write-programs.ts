import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { UserError } from '../../errors.ts';
import { writeFailure } from '../../files/file-failure.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { replaceFile, syncFolder } from '../../files/write-file-atomic.ts';
import { type BundledFile, sumsName } from './bundled-programs.ts';
import { copyFileDurably } from './copy-file.ts';

/** Removes the checksums of an earlier bundle in this folder, so that a bundle that is cut off has none. */
export async function beginBundle(folder: string): Promise<void> {
  await explained(folder, async () => {
    await makeFolder(folder, 0o777);
    await rm(join(folder, sumsName), { force: true });
  });
}

/** Writes programs next to an archive of images, and the checksums of all. Rejects with a `UserError`. */
export async function writePrograms(
  archive: { file: string; sha256: string },
  programs: readonly BundledFile[],
): Promise<void> {
  const folder = dirname(archive.file);
  const sums = [`${archive.sha256}  ${basename(archive.file)}\n`];
  await explained(folder, async () => {
    for (const { name, source } of programs) {
      const target = join(folder, name);
      await makeFolder(dirname(target), 0o777);
      sums.push(`${await copyFileDurably(source, target, 0o755)}  ${name}\n`);
    }
    await replaceFile(join(folder, sumsName), Buffer.from(sums.join('')), { mode: 0o644 });
    await syncFolder(folder);
  });
}

async function explained(folder: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`the bundle in ${folder} cannot be written: ${writeFailure(folder, error)}`, { cause: error });
  }
}

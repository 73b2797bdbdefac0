import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { systemClock } from '../../clock.ts';
import { UserError } from '../../errors.ts';
import { readFailure } from '../../files/file-failure.ts';
import { visible } from '../../text/visible-text.ts';
import type { CommandDeps } from '../io/deps.ts';
import { type ImageFlags, openStore, startManaged, abortOnSignal } from './open-images.ts';

/** Imports an archive from a file, or from an input with that name. Resolves to the names of its images. */
type ImportArchive = (file: string, input: Readable | undefined) => Promise<string[]>;

/**
 * Imports archives into the containerd that the flags select, and prints the names of their images. `-` is stdin.
 * Rejects with a `UserError` for another runtime, because the CRI has no import. Does not start containerd if a file
 * cannot be read.
 */
export async function loadImages(files: readonly string[], flags: ImageFlags, deps: CommandDeps): Promise<void> {
  const loadAll = async (importArchive: ImportArchive): Promise<void> => {
    for (const file of files) {
      const names = await (file === '-'
        ? importArchive('stdin', pipedStdin(deps))
        : importArchive(resolve(file), undefined));
      for (const name of names) deps.stdout.write(`Loaded image: ${visible(name)}\n`);
    }
  };
  // Without root, the missing permission is the error to report, and nothing is started.
  const paths = process.getuid?.() === 0 ? files.filter((file) => file !== '-') : [];
  for (const path of paths) await requireReadable(resolve(path));
  await abortOnSignal((signal) => withImporter(flags, signal, loadAll));
}

/** Does not open the file, because a named pipe can be read only once. */
async function requireReadable(file: string): Promise<void> {
  const failed = `Could not import the image archive ${file}`;
  try {
    await access(file, constants.R_OK);
    if (!(await stat(file)).isDirectory()) return;
  } catch (cause) {
    throw new UserError(`${failed}: ${readFailure(cause)}`, { cause });
  }
  throw new UserError(`${failed}: it is a folder`);
}

function pipedStdin({ stdin }: CommandDeps): Readable {
  if (stdin.isTTY !== true) return stdin;
  throw new UserError('stdin is a terminal, not an image archive', {
    hint: 'Name a file, or pipe the archive: docker save IMAGE | kubelet-ts images load -',
  });
}

async function withImporter(
  flags: ImageFlags,
  signal: AbortSignal,
  use: (importArchive: ImportArchive) => Promise<void>,
): Promise<void> {
  const managed = await startManaged(flags, signal);
  if (managed === undefined) {
    await withSharedImporter(flags, signal, use);
    return;
  }
  try {
    await use((file, input) => managed.importImageArchive(file, signal, input));
  } finally {
    managed.release();
  }
}

/** Loaded on demand, because most nodes have a managed containerd. */
async function withSharedImporter(
  flags: ImageFlags,
  signal: AbortSignal,
  use: (importArchive: ImportArchive) => Promise<void>,
): Promise<void> {
  const [{ importListed }, { withListedImages }] = await Promise.all([
    import('../../containerd/import-listed.ts'),
    import('../../containerd/listed-images.ts'),
  ]);
  const store = await openStore(flags, 'loading an image');
  await withListedImages(`unix://${store.address}`, (isListed) =>
    use((file, input) => importListed(store, file, { isListed, clock: systemClock, signal, input })),
  );
}

import { resolve } from 'node:path';
import { systemClock } from '../../clock.ts';
import { visible } from '../../visible-text.ts';
import type { CommandDeps } from '../io/deps.ts';
import { type ImageFlags, openStore, startManaged } from './open-images.ts';

/**
 * Imports archives and prints the names of their images. The CRI has no import. We import into a managed containerd;
 * other runtimes need their own client.
 */
export async function loadImages(files: readonly string[], flags: ImageFlags, deps: CommandDeps): Promise<void> {
  const managed = await startManaged(flags);
  try {
    const importOne = managed ? (file: string) => managed.importImageArchive(file) : await importerOf(flags);
    for (const file of files) {
      for (const name of await importOne(resolve(file))) deps.stdout.write(`Loaded image: ${visible(name)}\n`);
    }
  } finally {
    managed?.release();
  }
}

async function importerOf(flags: ImageFlags): Promise<(file: string) => Promise<string[]>> {
  const { importListed } = await import('../../containerd/import-listed.ts');
  const store = await openStore(flags, 'loading an image');
  const { signal } = new AbortController();
  return (file) => importListed(store, file, { clock: systemClock, signal });
}

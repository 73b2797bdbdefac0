import { resolve } from 'node:path';
import { systemClock } from '../../clock.ts';
import { visible } from '../../visible-text.ts';
import { createLogger } from '../../node/log/create-logger.ts';
import { findRuntimeEndpoint } from '../../node/find-runtime.ts';
import type { CommandDeps } from '../io/deps.ts';
import type { ImageFlags } from './open-images.ts';

/** Imports archives and prints the names of their images. */
export async function loadImages(files: readonly string[], flags: ImageFlags, deps: CommandDeps): Promise<void> {
  const importer = await openImporter(flags);
  try {
    for (const file of files) {
      for (const name of await importer.import(resolve(file))) deps.stdout.write(`Loaded image: ${visible(name)}\n`);
    }
  } finally {
    importer.close();
  }
}

interface Importer {
  /** Resolves with the names of the images in an archive. */
  import: (file: string) => Promise<string[]>;
  close: () => void;
}

/** The CRI has no import. We import into a managed containerd; other runtimes need their own client. */
async function openImporter(flags: ImageFlags): Promise<Importer> {
  const { endpoint, managed } = await findRuntimeEndpoint({
    rootDir: resolve(flags.rootDir),
    flag: flags.containerRuntimeEndpoint,
  });
  if (managed) {
    const { ManagedContainerd } = await import('../../containerd/managed-containerd.ts');
    const { logger } = await createLogger('text', 'warn');
    const containerd = new ManagedContainerd({ rootDir: resolve(flags.rootDir), clock: systemClock, logger });
    await containerd.start();
    return {
      import: (file) => containerd.importImageArchive(file),
      close: () => {
        containerd.release();
      },
    };
  }
  const [{ imageStoreOf }, { importImageArchive }] = await Promise.all([
    import('../../containerd/ctr.ts'),
    import('../../containerd/import-image-archive.ts'),
  ]);
  const store = await imageStoreOf(endpoint, 'loading an image');
  return { import: (file) => importImageArchive(store, file), close: () => undefined };
}

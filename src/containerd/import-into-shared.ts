import type { Clock } from '../clock.ts';
import { imageStoreOf } from './ctr.ts';
import { hasImageArchives, importImagesFolder, type ImportedFolder } from './import-images-folder.ts';
import { importListed, isPresent } from './import-listed.ts';
import type { ImportProgress } from './import-progress.ts';
import { managedPaths } from './managed-paths.ts';

interface SharedImport {
  /** Of the CRI of a containerd that is not managed. */
  endpoint: string;
  rootDir: string;
  clock: Clock;
}

/**
 * Imports the archives in `<root-dir>/images` into a containerd that is not managed. Returns undefined if there are
 * none. The import rejects with a `UserError` for another runtime, and without `ctr`.
 */
export async function importIntoShared({
  endpoint,
  rootDir,
  clock,
}: SharedImport): Promise<
  ((signal: AbortSignal, onProgress: (progress: ImportProgress) => void) => Promise<ImportedFolder>) | undefined
> {
  const { imagesFolder, importedImagesFile } = managedPaths(rootDir);
  if (!(await hasImageArchives(imagesFolder))) return undefined;
  return async (signal, onProgress) => {
    const store = await imageStoreOf(endpoint, `importing the archives in ${imagesFolder}`);
    return importImagesFolder({
      folder: imagesFolder,
      stateFile: importedImagesFile,
      store: endpoint,
      isPresent: (name) => isPresent(endpoint, name, signal),
      importArchive: (file) => importListed(store, file, { clock, signal, onProgress }),
    });
  };
}

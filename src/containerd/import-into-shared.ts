import type { Clock } from '../clock.ts';
import { imageStoreOf } from './ctr.ts';
import { importImagesFolder, type ImportedFolder } from './import-images-folder.ts';
import { importListed } from './import-listed.ts';
import type { ImportProgress } from './import-progress.ts';
import { withListedImages } from './listed-images.ts';
import { managedPaths } from './managed-paths.ts';

interface SharedImport {
  /** CRI endpoint of a containerd that is not managed. */
  endpoint: string;
  rootDir: string;
  clock: Clock;
  signal: AbortSignal;
  onProgress: (progress: ImportProgress) => void;
}

/**
 * Imports the archives in `<root-dir>/images` into a containerd that is not managed. Rejects with a `UserError` if the
 * runtime is not containerd or `ctr` is missing.
 */
export async function importIntoShared(request: SharedImport): Promise<ImportedFolder> {
  const { endpoint, rootDir, clock, signal, onProgress } = request;
  const { imagesFolder, importedImagesFile } = managedPaths(rootDir);
  const store = await imageStoreOf(endpoint, `importing the archives in ${imagesFolder}`);
  return withListedImages(endpoint, (isListed) =>
    importImagesFolder({
      folder: imagesFolder,
      stateFile: importedImagesFile,
      store: endpoint,
      isPresent: (name) => isListed(name, signal),
      importArchive: (file) => importListed(store, file, { isListed, clock, signal, onProgress }),
      signal,
    }),
  );
}

import { readFile, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import { errorMessage } from '../errors.ts';
import { type ImageStore, requireCtr } from './ctr.ts';
import { CutOffArchiveError, isCutOff } from './cut-off-archive.ts';
import { removeDamagedBlobs } from './damaged-blobs.ts';
import type { InstalledContainerd } from './find-containerd.ts';
import { importImagesFolder, type ImportedFolder } from './import-images-folder.ts';
import { importListed } from './import-listed.ts';
import type { ImportProgress } from './import-progress.ts';
import { type IsListed, listImageNames, withListedImages } from './listed-images.ts';
import type { ManagedPaths } from './managed-paths.ts';
import { earlierPauseImageName, pauseImageArchive, pauseImageName } from './pause/pause-image.ts';
import { restoreUnpackedImage } from './restore-image.ts';
import { snapshotterIn } from './snapshotter.ts';
import { mayBeDamage } from './start-problem.ts';
import { waitUntilReady } from './wait-until-ready.ts';

export interface ManagedImagesDeps {
  readonly paths: ManagedPaths;
  readonly clock: Clock;
  readonly find: () => Promise<InstalledContainerd>;
  /** PID of the running containerd. Undefined after it has exited, until it is restarted. */
  readonly pid: () => number | undefined;
}

/** What the steps of an import share. */
interface ImportStep {
  isListed: IsListed;
  signal: AbortSignal;
  /** See `ImportOptions`. */
  input?: Readable | undefined;
  onProgress?: (progress: ImportProgress) => void;
}

/** What a repair of images found and did. */
export interface ImagesRepair {
  /** Digests of the blobs that were removed. An image that needs one is pulled or loaded again. */
  readonly damagedBlobs: readonly string[];
  readonly imported: ImportedFolder;
  /** The unpacked files of each image that had to be written again. */
  readonly restored: readonly { readonly name: string; readonly files: readonly string[] }[];
}

/** Milliseconds. If containerd restarts within this time, a step is repeated. */
const patienceMs = 60_000;

/** Imports images from files into a managed containerd. A step during which containerd exited is repeated. */
export class ManagedImages {
  constructor(private readonly deps: ManagedImagesDeps) {}

  /** Imports the pause image under every name that containerd uses, if missing. Resolves to true if it was. */
  ensurePauseImage(signal: AbortSignal): Promise<boolean> {
    return withListedImages(this.deps.paths.endpoint, (isListed) =>
      this.despiteRestarts(signal, () => this.importMissingPauseImages({ isListed, signal })),
    );
  }

  private async importMissingPauseImages(step: ImportStep): Promise<boolean> {
    let wasMissing = false;
    for (const name of await this.pauseImageNames()) {
      if (await step.isListed(name, step.signal)) continue;
      wasMissing = true;
      await this.despiteDamage(step.signal, () => this.importPauseImage(name, step));
    }
    return wasMissing;
  }

  /** True if the running containerd uses the earlier name of the pause image, which a public registry could serve. */
  async usesEarlierPauseImage(): Promise<boolean> {
    // The file is written whenever we start containerd, but not when we adopt one.
    const config = await readFile(this.deps.paths.configFile, 'utf8').catch(() => '');
    return config.includes(`"${earlierPauseImageName}"`);
  }

  private async pauseImageNames(): Promise<string[]> {
    return [pauseImageName, ...((await this.usesEarlierPauseImage()) ? [earlierPauseImageName] : [])];
  }

  /** Uses no file, because another process may be writing it at the same time. */
  private async importPauseImage(name: string, step: ImportStep): Promise<void> {
    const input = Readable.from([await pauseImageArchive(process.arch, name)], { objectMode: false });
    await this.import(name, { ...step, input });
  }

  /** Restores the unpacked pause image, if it is damaged. Resolves to the paths of the files that were. */
  async restorePauseImage(signal: AbortSignal): Promise<string[]> {
    return this.restore(pauseImageName, signal);
  }

  /**
   * Removes damaged blobs, imports the archives in `<root-dir>/images` whose images are missing then, and restores the
   * unpacked files of these images, or of all.
   */
  async repair(names: readonly string[], signal: AbortSignal): Promise<ImagesRepair> {
    const { endpoint } = this.deps.paths;
    const damagedBlobs = await this.removeDamagedBlobs(signal);
    const imported = await this.importFolder(signal);
    const wanted = names.length > 0 ? names : await listImageNames(endpoint, signal);
    const restored: { name: string; files: readonly string[] }[] = [];
    for (const name of wanted) restored.push({ name, files: await this.restore(name, signal) });
    return { damagedBlobs, imported, restored };
  }

  private async restore(name: string, signal: AbortSignal, before?: number): Promise<string[]> {
    const options = { root: this.deps.paths.root, signal, ...(before !== undefined && { before }) };
    return restoreUnpackedImage(await this.store(), name, options);
  }

  /** Also imports the pause image again, which the CRI still lists after its blobs are gone. */
  private async removeDamagedBlobs(signal: AbortSignal): Promise<string[]> {
    const { endpoint, root } = this.deps.paths;
    const removed = await removeDamagedBlobs(await this.store(), root, signal);
    if (removed.length === 0) return [];
    await withListedImages(endpoint, async (isListed) => {
      for (const name of await this.pauseImageNames()) await this.importPauseImage(name, { isListed, signal });
    });
    return removed;
  }

  /**
   * Repeats a step that failed on damaged blobs, once they are removed: containerd would not replace them. The blobs
   * are not read if `file`, the archive of the step, is damaged itself.
   */
  private async despiteDamage<T>(signal: AbortSignal, step: () => Promise<T>, file?: string): Promise<T> {
    try {
      return await step();
    } catch (error) {
      signal.throwIfAborted();
      if (!mayBeDamage(errorMessage(error))) throw error;
      if (file !== undefined && (await isCutOff(file, signal))) throw new CutOffArchiveError(file, error);
      if ((await this.removeDamagedBlobs(signal)).length === 0) throw error;
      return await step();
    }
  }

  /**
   * Imports one archive and protects its images from garbage collection. Resolves to their names when the CRI lists
   * them. Does not repeat an import that has an `input`, which can be read only once.
   */
  importArchive(file: string, signal: AbortSignal, input?: Readable): Promise<string[]> {
    return withListedImages(this.deps.paths.endpoint, (isListed) => {
      const step = (): Promise<string[]> => this.import(file, { isListed, signal, input });
      return input === undefined ? this.despiteRestarts(signal, () => this.despiteDamage(signal, step, file)) : step();
    });
  }

  private async import(file: string, step: ImportStep): Promise<string[]> {
    const { clock } = this.deps;
    const before = clock.now();
    const names = await importListed(await this.store(), file, { ...step, clock });
    // An image that cannot be checked, such as one with layers of an unknown compression, is imported all the same.
    for (const name of names) await this.restore(name, step.signal, before).catch(() => undefined);
    step.signal.throwIfAborted();
    return names;
  }

  /** Imports the archives in `<root-dir>/images` that this containerd does not have yet. */
  async importFolder(
    signal: AbortSignal,
    onProgress: (progress: ImportProgress) => void = () => undefined,
  ): Promise<ImportedFolder> {
    const { imagesFolder, importedImagesFile, root, endpoint } = this.deps.paths;
    // A root folder that was removed and created again is a different store.
    const { ino, birthtimeMs } = await stat(root);
    return withListedImages(endpoint, (isListed) =>
      importImagesFolder({
        folder: imagesFolder,
        stateFile: importedImagesFile,
        store: `${root} ${String(ino)} ${String(birthtimeMs)}`,
        isPresent: (name) => this.despiteRestarts(signal, () => isListed(name, signal)),
        importArchive: (file) =>
          this.despiteRestarts(signal, () =>
            this.despiteDamage(signal, () => this.import(file, { isListed, signal, onProgress }), file),
          ),
        signal,
      }),
    );
  }

  /** Repeats a failed step if containerd was restarted after the step began. */
  private async despiteRestarts<T>(signal: AbortSignal, step: () => Promise<T>): Promise<T> {
    const { clock, paths, pid } = this.deps;
    const giveUpAtMonotonic = clock.monotonic() + patienceMs;
    for (;;) {
      const pidBefore = pid();
      try {
        return await step();
      } catch (error) {
        signal.throwIfAborted();
        const timeoutMs = giveUpAtMonotonic - clock.monotonic();
        if (timeoutMs <= 0) throw error;
        // When containerd exits, calls in flight fail a moment before `pid` changes.
        await waitUntilReady(paths.socket, { clock, signal, timeoutMs });
        if (pid() === pidBefore) throw error;
      }
    }
  }

  private async store(): Promise<ImageStore> {
    const { find, paths } = this.deps;
    const installed = await find();
    return {
      ctr: requireCtr(installed),
      ctrVersion: installed.version,
      address: paths.socket,
      snapshotter: snapshotterIn(await readFile(paths.configFile, 'utf8').catch(() => '')),
    };
  }
}

import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { openChannel } from '../cri/grpc-channel.ts';
import { grpcImageService } from '../cri/grpc-image-service.ts';
import type { ImageService } from '../cri/image-service.ts';
import { type ImageStore, requireCtr } from './ctr.ts';
import type { InstalledContainerd } from './find-containerd.ts';
import { importImageArchive } from './import-image-archive.ts';
import { importImagesFolder, type ImportedFolder } from './import-images-folder.ts';
import type { ImportProgress } from './import-progress.ts';
import type { ManagedPaths } from './managed-paths.ts';
import { earlierPauseImageName, pauseImageArchive, pauseImageName } from './pause/pause-image.ts';
import { chooseSnapshotter } from './snapshotter.ts';
import { waitUntilReady } from './wait-until-ready.ts';

export interface ManagedImagesDeps {
  readonly paths: ManagedPaths;
  readonly clock: Clock;
  readonly find: () => Promise<InstalledContainerd>;
  /** PID of the running containerd. Undefined between its end and its restart. */
  readonly pid: () => number | undefined;
}

const pollMs = 5;
/** Restarts of containerd within this time repeat a step. */
const patienceMs = 60_000;

/** The images that a managed containerd gets from files. A step during which containerd ended is repeated. */
export class ManagedImages {
  readonly #deps: ManagedImagesDeps;

  constructor(deps: ManagedImagesDeps) {
    this.#deps = deps;
  }

  /**
   * Imports the pause image under every name that containerd uses, unless present. Resolves to true if it was missing.
   */
  ensurePauseImage(signal: AbortSignal): Promise<boolean> {
    return this.#despiteRestarts(signal, () => this.#importMissingPauseImages(signal));
  }

  async #importMissingPauseImages(signal: AbortSignal): Promise<boolean> {
    let wasMissing = false;
    for (const name of await this.#pauseImageNames()) {
      if (await this.#withImageService((images) => isListed(images, name, signal))) continue;
      wasMissing = true;
      await this.#importPauseImage(name, signal);
    }
    return wasMissing;
  }

  /** True if the running containerd uses the earlier name of the pause image, which a public registry could serve. */
  async usesEarlierPauseImage(): Promise<boolean> {
    // The file is written at every start of containerd, but not at an adoption.
    const config = await readFile(this.#deps.paths.configFile, 'utf8').catch(() => '');
    return config.includes(`"${earlierPauseImageName}"`);
  }

  async #pauseImageNames(): Promise<string[]> {
    return [pauseImageName, ...((await this.usesEarlierPauseImage()) ? [earlierPauseImageName] : [])];
  }

  async #importPauseImage(name: string, signal: AbortSignal): Promise<void> {
    const file = join(this.#deps.paths.base, 'pause.tar');
    await writeFile(file, await pauseImageArchive(process.arch, name));
    try {
      await this.#import(file, signal, () => undefined);
    } finally {
      await rm(file, { force: true });
    }
  }

  /**
   * Imports one archive and protects its images from garbage collection. Resolves to their names when the CRI lists
   * them.
   */
  importArchive(
    file: string,
    signal: AbortSignal,
    onProgress: (progress: ImportProgress) => void = () => undefined,
  ): Promise<string[]> {
    return this.#despiteRestarts(signal, () => this.#import(file, signal, onProgress));
  }

  async #import(file: string, signal: AbortSignal, onProgress: (progress: ImportProgress) => void): Promise<string[]> {
    const names = await importImageArchive(await this.#store(), file, { pinned: true, signal, onProgress });
    // The CRI plugin learns of an image by an event; until then, a pod would try to pull it.
    await this.#withImageService(async (images) => {
      for (const name of names) {
        while (!(await isListed(images, name, signal))) await this.#deps.clock.sleep(pollMs, { signal });
      }
    });
    return names;
  }

  /** Imports the archives in `<root-dir>/images` that this containerd does not have yet. */
  async importFolder(signal: AbortSignal, onProgress?: (progress: ImportProgress) => void): Promise<ImportedFolder> {
    const { imagesFolder, importedImagesFile, root } = this.#deps.paths;
    // A root folder that was removed and created again is another store.
    const { ino, birthtimeMs } = await stat(root);
    return importImagesFolder({
      folder: imagesFolder,
      stateFile: importedImagesFile,
      store: `${root} ${String(ino)} ${String(birthtimeMs)}`,
      importArchive: (file) => this.importArchive(file, signal, onProgress),
    });
  }

  /** Repeats a failed step if containerd was restarted since its beginning. */
  async #despiteRestarts<T>(signal: AbortSignal, step: () => Promise<T>): Promise<T> {
    const { clock, paths, pid } = this.#deps;
    const giveUpAtMonotonic = clock.monotonic() + patienceMs;
    for (;;) {
      const pidBefore = pid();
      try {
        return await step();
      } catch (error) {
        signal.throwIfAborted();
        const timeoutMs = giveUpAtMonotonic - clock.monotonic();
        if (timeoutMs <= 0) throw error;
        // The calls that an end cuts short fail a moment before `pid` changes.
        await waitUntilReady(paths.socket, { clock, signal, timeoutMs });
        if (pid() === pidBefore) throw error;
      }
    }
  }

  async #store(): Promise<ImageStore> {
    const { find, paths } = this.#deps;
    const installed = await find();
    return {
      ctr: requireCtr(installed),
      ctrVersion: installed.version,
      address: paths.socket,
      snapshotter: await chooseSnapshotter(paths.base),
    };
  }

  async #withImageService<T>(use: (images: ImageService) => Promise<T>): Promise<T> {
    const channel = openChannel(this.#deps.paths.endpoint);
    try {
      return await use(grpcImageService(channel));
    } finally {
      channel.close();
    }
  }
}

async function isListed(images: ImageService, image: string, signal: AbortSignal): Promise<boolean> {
  const { image: found } = await images.imageStatus({ image: { image } }, { signal });
  return found !== undefined;
}

import { isSea } from 'node:sea';
import { basename, dirname, resolve } from 'node:path';
import { systemClock } from '../../clock.ts';
import type { Image } from '../../cri/types.ts';
import { exportImageArchive } from '../../containerd/export-image-archive.ts';
import { pauseImageName } from '../../containerd/pause/pause-image.ts';
import { runtimeSetting } from '../../engine/images/content-store.ts';
import {
  missingImages,
  type NeededImage,
  neededImages,
  neededText,
  storedName,
} from '../../engine/images/needed-images.ts';
import { UserError } from '../../errors.ts';
import { visible } from '../../text/visible-text.ts';
import { bundleNames, type BundledFile, ownName, programsOfMachine } from '../../node/bundle/bundled-programs.ts';
import { beginBundle, writePrograms } from '../../node/bundle/write-programs.ts';
import { withRuntime } from '../../node/with-runtime.ts';
import type { CommandDeps } from '../io/deps.ts';
import { resolvePods } from './declared-images.ts';
import { sizeText } from './list-images.ts';
import { type ImageFlags, openStore, abortOnSignal } from './open-images.ts';

export interface BundleFlags extends ImageFlags {
  /** The archive to write. */
  output: string;
  /** True to include the image that holds the namespaces of pods. */
  pause: boolean;
  /** True to write the programs that a bare machine needs next to the archive. */
  withPrograms: boolean;
}

/** Writes the images of manifests, or of the running agent, into one archive with a checksum. */
export async function bundleImages(paths: readonly string[], flags: BundleFlags, deps: CommandDeps): Promise<void> {
  const file = resolve(flags.output);
  if (!file.endsWith('.tar')) {
    throw new UserError(`${flags.output} is not the name of an archive`, {
      hint: 'Name it FILE.tar: only such files are imported from <root-dir>/images.',
    });
  }
  if (flags.withPrograms && !bundleNames.test(basename(file))) {
    throw new UserError(`${flags.output}: a bundle with programs has names of letters, digits and . _ + -`);
  }
  const programs = flags.withPrograms ? await bundledPrograms() : undefined;
  const declared = neededImages(await resolvePods(paths, flags.rootDir, deps));
  const { images, needed } = await withRuntime(deps.connect(flags), async ({ runtime, images: service }) => {
    const pause = flags.pause ? [(await runtimeSetting(runtime, 'sandboxImage')) ?? pauseImageName] : [];
    const all = [...declared, ...pause.map((image): NeededImage => ({ image, pods: [] }))];
    return { images: (await service.listImages({})).images, needed: all };
  });
  const names = bundledNames(needed, images);
  const store = await openStore(flags, 'bundling images');
  if (programs !== undefined) await beginBundle(dirname(file));
  const isShown = deps.stderr.isTTY === true;
  const { bytes, sha256 } = await abortOnSignal((signal) =>
    exportImageArchive(store, names, file, {
      clock: systemClock,
      signal,
      onProgress: (count) => {
        if (isShown) deps.stderr.write(`\rWriting ${sizeText(BigInt(count))}\u001B[K`);
      },
    }).finally(() => {
      if (isShown) deps.stderr.write('\r\u001B[K');
    }),
  );
  if (programs !== undefined) await writePrograms({ file, sha256 }, programs);
  for (const name of names) deps.stdout.write(`Bundled image: ${visible(name)}\n`);
  deps.stdout.write(`Wrote ${visible(flags.output)}, ${sizeText(BigInt(bytes))}, sha256 ${sha256}\n`);
  if (programs !== undefined) deps.stdout.write(`Bundled programs: ${programs.map(({ name }) => name).join(', ')}\n`);
}

/** Only an executable can be copied to a machine that has no Node. */
async function bundledPrograms(): Promise<BundledFile[]> {
  if (!isSea()) {
    throw new UserError('only the executable of kubelet-ts can write a bundle with programs', {
      hint: 'Build it with npm run package, and run it instead of the npm package.',
    });
  }
  return [{ name: ownName, source: process.execPath }, ...(await programsOfMachine())];
}

/** The runtime's names of the images. Throws a `UserError` that lists the missing ones, or if no image is needed. */
export function bundledNames(needed: readonly NeededImage[], images: readonly Image[]): string[] {
  if (needed.length === 0) throw new UserError('the manifests need no image', { hint: 'Name manifests with pods.' });
  const missing = missingImages(needed, images);
  if (missing.length > 0) {
    throw new UserError(`nothing was written, because the runtime lacks these images:\n${neededText(missing)}`, {
      hint: `Pull them: kubelet-ts images pull ${missing.map(({ image }) => image).join(' ')}`,
    });
  }
  return [...new Set(needed.flatMap(({ image }) => storedName(image, images) ?? []))];
}

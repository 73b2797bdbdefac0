import { createInterface } from 'node:readline/promises';
import { importedImageNames } from '../../containerd/import-images-folder.ts';
import { managedPaths } from '../../containerd/managed-paths.ts';
import { earlierPauseImageName, pauseImageName } from '../../containerd/pause/pause-image.ts';
import type { Image } from '../../cri/types.ts';
import { runtimeSetting } from '../../engine/images/content-store.ts';
import { declaredImageKeys, imageKey, usedImageKeys } from '../../engine/images/image-keys.ts';
import { nameOf, unusedImages } from '../../engine/images/needed-images.ts';
import { errorMessage, UserError } from '../../errors.ts';
import type { RuntimeConnection } from '../../node/runtime-connection.ts';
import { visible } from '../../text/visible-text.ts';
import { withRuntime } from '../../node/with-runtime.ts';
import type { CommandDeps } from '../io/deps.ts';
import { podsOfAgent } from './declared-images.ts';
import { sizeText } from './list-images.ts';
import type { ImageFlags } from './open-images.ts';

export interface PruneFlags extends ImageFlags {
  dryRun: boolean;
  yes: boolean;
}

/**
 * Removes the images that no container of any owner and no pod of the agent uses. Keeps pinned images, pause images and
 * images of the archives in the root-dir. Asks for confirmation on a terminal.
 */
export async function pruneImages(flags: PruneFlags, deps: CommandDeps): Promise<void> {
  await withRuntime(deps.connect(flags), async (connection) => {
    const unused = await findUnused(flags, connection, () => {
      const text = `warning: no kubelet-ts runs on ${flags.rootDir}: images of pods without a container count as unused`;
      deps.stderr.write(`${visible(text)}\n`);
    });
    const total = sizeText(unused.reduce((sum, { size }) => sum + size, 0n));
    if (flags.dryRun || unused.length === 0) {
      for (const image of unused) deps.stdout.write(`Would remove image: ${visible(nameOf(image))}\n`);
      deps.stdout.write(`Reclaimable space: ${total}\n`);
      return;
    }
    if (flags.yes) {
      await removeAll(unused, connection, deps);
      return;
    }
    if (!(await isConfirmed(unused, total, deps))) return;
    await removeAll(await stillUnused(unused, flags, connection, deps), connection, deps);
  });
}

/** The images that are still unused after the confirmation, because a container may have started meanwhile. */
async function stillUnused(
  confirmed: readonly Image[],
  flags: PruneFlags,
  connection: RuntimeConnection,
  { stderr }: CommandDeps,
): Promise<Image[]> {
  const ids = new Set((await findUnused(flags, connection)).map(({ id }) => id));
  for (const image of confirmed.filter(({ id }) => !ids.has(id))) {
    stderr.write(`Skipped image, because it was used or removed meanwhile: ${visible(nameOf(image))}\n`);
  }
  return confirmed.filter(({ id }) => ids.has(id));
}

async function findUnused(
  { rootDir }: PruneFlags,
  { runtime, images: service, listAllContainers }: RuntimeConnection,
  onNoAgent: () => void = () => undefined,
): Promise<Image[]> {
  const pods = await podsOfAgent(rootDir);
  if (pods === undefined) onNoAgent();
  const [{ images }, { containers }, sandboxImage, imported] = await Promise.all([
    service.listImages({}),
    listAllContainers({}),
    runtimeSetting(runtime, 'sandboxImage'),
    importedImageNames(managedPaths(rootDir).importedImagesFile),
  ]);
  const kept = [
    ...imported,
    pauseImageName,
    earlierPauseImageName,
    ...(sandboxImage === undefined ? [] : [sandboxImage]),
  ];
  return unusedImages(
    images,
    new Set([...usedImageKeys(containers), ...declaredImageKeys(pods ?? []), ...kept.map(imageKey)]),
  );
}

async function isConfirmed(images: readonly Image[], total: string, { stdin, stderr }: CommandDeps): Promise<boolean> {
  if (stdin.isTTY !== true) {
    throw new UserError('images prune removes nothing without a confirmation', {
      hint: 'Give -y to remove the unused images, or --dry-run to list them.',
    });
  }
  for (const image of images) stderr.write(`${visible(nameOf(image))}\n`);
  const asking = createInterface({ input: stdin, output: stderr });
  try {
    const answer = await asking.question(
      `Remove ${images.length} unused ${images.length === 1 ? 'image' : 'images'} (${total})? [y/N] `,
    );
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    asking.close();
  }
}

/** Removes as many as possible. Rejects with a `UserError` that lists the images that could not be removed. */
async function removeAll(unused: readonly Image[], { images }: RuntimeConnection, deps: CommandDeps): Promise<void> {
  const failed: string[] = [];
  let reclaimed = 0n;
  for (const image of unused) {
    try {
      await images.removeImage({ image: { image: image.id } });
      reclaimed += image.size;
      deps.stdout.write(`Removed image: ${visible(nameOf(image))}\n`);
    } catch (error) {
      failed.push(`  ${nameOf(image)}: ${errorMessage(error)}`);
    }
  }
  deps.stdout.write(`Reclaimed space: ${sizeText(reclaimed)}\n`);
  if (failed.length > 0) throw new UserError(`these images could not be removed:\n${failed.join('\n')}`);
}

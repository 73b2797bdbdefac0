import { systemClock } from '../../clock.ts';
import { reasonOf, runCtr } from '../../containerd/ctr.ts';
import { UserError } from '../../errors.ts';
import type { RuntimeConnection } from '../../node/runtime-connection.ts';
import { visible } from '../../text/visible-text.ts';
import type { CommandDeps } from '../io/deps.ts';
import { type ImageFlags, openStore } from './open-images.ts';

const commandTimeoutMs = 30_000;
/** The CRI lists a name until a moment after containerd has removed it. */
const pollMs = 20;

/**
 * Removes names of images that have others. Resolves when the CRI does not list them. It needs ctr, because
 * containerd's CRI removes an image with all its names.
 */
export async function untagImages(
  tags: readonly string[],
  { images: service }: Pick<RuntimeConnection, 'images'>,
  flags: ImageFlags,
  { stdout }: CommandDeps,
): Promise<void> {
  const store = await openStore(flags, 'removing one of several names of an image');
  const signal = AbortSignal.timeout(commandTimeoutMs);
  try {
    await runCtr(store, ['images', 'rm', ...tags], { signal });
    const isListed = async (): Promise<boolean> =>
      (await service.listImages({}, { signal })).images.some(({ repoTags }) =>
        repoTags.some((tag) => tags.includes(tag)),
      );
    while (await isListed()) await systemClock.sleep(pollMs, { signal });
  } catch (cause) {
    throw new UserError(`Could not remove the name ${visible(tags.join(', '))}: ${reasonOf(cause)}`, { cause });
  }
  for (const tag of tags) stdout.write(`Untagged: ${visible(tag)}\n`);
}

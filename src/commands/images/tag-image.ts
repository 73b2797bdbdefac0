import { parseImageName } from '../../api/values/image-name.ts';
import { systemClock } from '../../clock.ts';
import { reasonOf, runCtr } from '../../containerd/ctr.ts';
import { imageKey } from '../../engine/images/image-keys.ts';
import { missingImages, storedName } from '../../engine/images/needed-images.ts';
import { UserError } from '../../errors.ts';
import { withRuntime } from '../../node/with-runtime.ts';
import type { CommandDeps } from '../io/deps.ts';
import { type ImageFlags, openStore } from './open-images.ts';

const commandTimeoutMs = 30_000;
/** The CRI lists a name a moment after containerd has it. */
const pollMs = 20;

/** Adds a tag to an image. A tag of another image moves, as with docker. Resolves when the CRI lists it. */
export async function tagImage(source: string, target: string, flags: ImageFlags, deps: CommandDeps): Promise<void> {
  const name = targetName(target);
  await withRuntime(deps.connect(flags), async ({ images: service }) => {
    const { images } = await service.listImages({});
    const stored = storedName(source, images);
    if (stored === undefined) {
      throw new UserError(`the runtime has no image ${source}`, { hint: 'kubelet-ts images list lists the images.' });
    }
    const store = await openStore(flags, 'tagging an image');
    const signal = AbortSignal.timeout(commandTimeoutMs);
    try {
      await runCtr(store, ['images', 'tag', '--force', stored, name], { signal });
      const isListed = async (): Promise<boolean> =>
        missingImages([{ image: name, pods: [] }], (await service.listImages({}, { signal })).images).length === 0;
      while (!(await isListed())) await systemClock.sleep(pollMs, { signal });
    } catch (cause) {
      throw new UserError(`Could not tag ${source} as ${target}: ${reasonOf(cause)}`, { cause });
    }
  });
}

/** The full name, because containerd accepts no short ones. */
function targetName(target: string): string {
  const name = parseImageName(target);
  if (name?.digest === '') return imageKey(target);
  throw new UserError(`"${target}" is not a name for an image`, {
    hint: 'Write [REGISTRY/]NAME[:TAG] in lowercase, without a digest.',
  });
}

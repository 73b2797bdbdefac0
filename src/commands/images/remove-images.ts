import { nearestName } from '../../api/text/nearest-name.ts';
import { earlierPauseImageName, pauseImageName } from '../../containerd/pause/pause-image.ts';
import type { Container, Image } from '../../cri/types.ts';
import { criLabels } from '../../engine/container/labels.ts';
import { runtimeSetting } from '../../engine/images/content-store.ts';
import { imageKey, imageKeys, usedImageKeys } from '../../engine/images/image-keys.ts';
import { nameOf, type NeededImage, neededImages } from '../../engine/images/needed-images.ts';
import { errorMessage, UserError } from '../../errors.ts';
import type { RuntimeConnection } from '../../node/runtime-connection.ts';
import { withRuntime } from '../../node/with-runtime.ts';
import { visible } from '../../text/visible-text.ts';
import type { CommandDeps } from '../io/deps.ts';
import { podsOfAgent } from './declared-images.ts';
import { type ImageFlags, openStore } from './open-images.ts';
import { systemClock } from '../../clock.ts';
import { reasonOf, runCtr } from '../../containerd/ctr.ts';

const commandTimeoutMs = 30_000;
/** The CRI lists a name until a moment after containerd has removed it. */
const pollMs = 20;

export interface RemoveFlags extends ImageFlags {
  force: boolean;
}

/** The pods, containers and sandboxes that use images. */
interface Users {
  needed: readonly NeededImage[];
  containers: readonly Container[];
  /** Keys (`imageKey`) of the images of sandboxes. */
  pauseImages: readonly string[];
}

/** An image that an arg names. */
interface ResolvedImage {
  word: string;
  image: Image;
  /** The name to remove if the image has other names. Undefined to remove the whole image. */
  tag: string | undefined;
}

/**
 * Removes images by name or id. If an image has other names, only the given names are removed, unless `force` is set.
 * Without `force`, removes nothing if one of the images or names is in use.
 */
export async function removeImages(names: readonly string[], flags: RemoveFlags, deps: CommandDeps): Promise<void> {
  await withRuntime(deps.connect(flags), async (connection) => {
    const { images } = await connection.images.listImages({});
    const named = names.map((word) => ({ word, image: imageNamed(word, images) }));
    const resolved = named.map(({ word, image }): ResolvedImage => {
      return { word, image, tag: flags.force ? undefined : onlyTag(word, image, named) };
    });
    if (!flags.force) {
      const users = await usersOf(connection, flags, deps);
      const refusals = resolved.flatMap((one) => keptBecause(one, users) ?? []);
      if (refusals.length > 0) {
        throw new UserError(refusals.join('\n'), { hint: 'No image was removed. Remove it anyway with --force.' });
      }
    }
    const tags = [...new Set(resolved.flatMap(({ tag }) => tag ?? []))];
    if (tags.length > 0) await untagImages(tags, connection, flags, deps);
    for (const image of new Set(resolved.flatMap((one) => (one.tag === undefined ? [one.image] : [])))) {
      try {
        await connection.images.removeImage({ image: { image: image.id } });
      } catch (cause) {
        throw new UserError(`image ${nameOf(image)} could not be removed: ${errorMessage(cause)}`, { cause });
      }
      deps.stdout.write(`Removed image: ${visible(nameOf(image))}\n`);
    }
  });
}

/** The tag that an arg names, if the image has tags that no arg names and no arg names the image itself. */
function onlyTag(
  word: string,
  image: Image,
  all: readonly Pick<ResolvedImage, 'word' | 'image'>[],
): string | undefined {
  const { repoTags } = image;
  const named = new Set(all.filter((one) => one.image === image).map((one) => imageKey(one.word)));
  const isWholeNamed = [...named].some((key) => !repoTags.some((tag) => imageKey(tag) === key));
  const hasOthers = repoTags.some((tag) => !named.has(imageKey(tag)));
  return hasOthers && !isWholeNamed ? repoTags.find((tag) => imageKey(tag) === imageKey(word)) : undefined;
}

/** Shortest prefix that is accepted as an id. */
const minIDPrefixLength = 6;

/** Finds an image by name, digest, id or id prefix. Throws a `UserError` unless exactly one image matches. */
function imageNamed(name: string, images: readonly Image[]): Image {
  const key = imageKey(name);
  const named = images.find((image) => imageKeys(image).includes(key));
  if (named !== undefined) return named;
  const start = name.replace(/^sha256:/, '');
  const isStart = new RegExp(`^[0-9a-f]{${minIDPrefixLength},64}$`).test(start);
  const [first, ...others] = isStart ? images.filter(({ id }) => id.replace(/^sha256:/, '').startsWith(start)) : [];
  if (others.length > 0) throw new UserError(`${others.length + 1} images have an id that starts with ${name}`);
  if (first !== undefined) return first;
  const near = nearestName(
    shortName(key),
    images.flatMap(({ repoTags }) => repoTags.map(shortName)),
  );
  throw new UserError(`the runtime has no image ${visible(name)}`, {
    hint: near === undefined ? 'kubelet-ts images list lists the images.' : `Did you mean ${visible(near)}?`,
  });
}

/** Without the common parts of image names, which would make all names similar. */
const shortName = (name: string): string => name.replace(/^docker\.io\/(library\/)?/, '').replace(/:latest$/, '');

async function usersOf(
  { runtime, listAllContainers }: RuntimeConnection,
  { rootDir }: RemoveFlags,
  { stderr }: CommandDeps,
): Promise<Users> {
  const pods = await podsOfAgent(rootDir);
  if (pods === undefined) {
    stderr.write(
      visible(`warning: no kubelet-ts runs on ${rootDir}: images of pods without a container count as unused`) + '\n',
    );
  }
  const [{ containers }, sandboxImage] = await Promise.all([
    listAllContainers({}),
    runtimeSetting(runtime, 'sandboxImage'),
  ]);
  const pauseImages = [pauseImageName, earlierPauseImageName, ...(sandboxImage === undefined ? [] : [sandboxImage])];
  return { needed: neededImages(pods ?? []), containers, pauseImages: pauseImages.map(imageKey) };
}

/** Why the image or its name is kept. Returns undefined if it is unused. */
function keptBecause({ word, image, tag }: ResolvedImage, users: Users): string | undefined {
  const keys = new Set(tag === undefined ? imageKeys(image) : [imageKey(tag)]);
  const isUsed = (key: string): boolean => keys.has(key);
  const declaring = users.needed.filter((needed) => isUsed(imageKey(needed.image))).flatMap(({ pods }) => pods);
  if (declaring.length > 0) return `image ${word} is used by ${counted('pod', [...new Set(declaring)])}`;
  const running = users.containers.filter((container) => [...usedImageKeys([container])].some(isUsed));
  if (running.length > 0) return `image ${word} is used by ${counted('container', running.map(containerTitle))}`;
  if (users.pauseImages.some(isUsed)) return `image ${word} is used by the sandboxes of all pods`;
  return undefined;
}

function containerTitle({ id, labels }: Container): string {
  const pod = labels[criLabels.podName];
  if (pod === undefined) return id;
  return `${labels[criLabels.podNamespace] ?? ''}/${pod}/${labels[criLabels.containerName] ?? ''}`;
}

const counted = (what: string, names: readonly string[]): string =>
  `${what}${names.length === 1 ? '' : 's'} ${names.join(', ')}`;

/**
 * Removes names of images that have other names. Resolves when the CRI no longer lists them. Needs ctr, because
 * containerd's CRI removes an image with all its names.
 */
async function untagImages(
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

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
import { visible } from '../../visible-text.ts';
import type { CommandDeps } from '../io/deps.ts';
import { podsOfAgent } from './declared-images.ts';
import type { ImageFlags } from './open-images.ts';

export interface RemoveFlags extends ImageFlags {
  force: boolean;
}

/** What uses images. */
interface Users {
  needed: readonly NeededImage[];
  containers: readonly Container[];
  /** Keys (`imageKey`) of the images of sandboxes. */
  pauseImages: readonly string[];
}

/** Removes images by name or id. Without `force` it removes none if one of them is in use, or has further names. */
export async function removeImages(names: readonly string[], flags: RemoveFlags, deps: CommandDeps): Promise<void> {
  await withRuntime(deps.connect(flags), async (connection) => {
    const { images } = await connection.images.listImages({});
    const meant = names.map((name) => ({ name, image: imageNamed(name, images) }));
    if (!flags.force) {
      const users = await usersOf(connection, flags, deps);
      const refusals = meant.flatMap(({ name, image }) => whyKept(name, image, users, names) ?? []);
      if (refusals.length > 0) {
        throw new UserError(refusals.join('\n'), { hint: 'No image was removed. --force removes it nevertheless.' });
      }
    }
    for (const image of new Set(meant.map(({ image: one }) => one))) {
      try {
        await connection.images.removeImage({ image: { image: image.id } });
      } catch (cause) {
        throw new UserError(`image ${nameOf(image)} could not be removed: ${errorMessage(cause)}`, { cause });
      }
      deps.stdout.write(`Removed image: ${visible(nameOf(image))}\n`);
    }
  });
}

/** Shortest start of an id that is taken for one. */
const minIDLength = 6;

/** Finds an image by name, digest, id or start of an id. Throws a `UserError` unless exactly one image has it. */
function imageNamed(name: string, images: readonly Image[]): Image {
  const key = imageKey(name);
  const named = images.find((image) => imageKeys(image).includes(key));
  if (named !== undefined) return named;
  const start = name.replace(/^sha256:/, '');
  const isStart = new RegExp(`^[0-9a-f]{${minIDLength},64}$`).test(start);
  const [first, ...others] = isStart ? images.filter(({ id }) => id.replace(/^sha256:/, '').startsWith(start)) : [];
  if (others.length > 0) throw new UserError(`${others.length + 1} images have an id that begins with ${name}`);
  if (first !== undefined) return first;
  const near = nearestName(
    shortName(key),
    images.flatMap(({ repoTags }) => repoTags.map(shortName)),
  );
  throw new UserError(`the runtime has no image ${visible(name)}`, {
    hint: near === undefined ? 'kubelet-ts images list lists the images.' : `Did you mean ${visible(near)}?`,
  });
}

/** Without the parts that most names share, because those make all names alike. */
const shortName = (name: string): string => name.replace(/^docker\.io\/(library\/)?/, '').replace(/:latest$/, '');

async function usersOf(
  { runtime, listAllContainers }: RuntimeConnection,
  { rootDir }: RemoveFlags,
  { stderr }: CommandDeps,
): Promise<Users> {
  const pods = await podsOfAgent(rootDir);
  if (pods === undefined) {
    stderr.write(`warning: no kubelet-ts runs on ${rootDir}: images of pods without a container count as unused\n`);
  }
  const [{ containers }, sandboxImage] = await Promise.all([
    listAllContainers({}),
    runtimeSetting(runtime, 'sandboxImage'),
  ]);
  const pauseImages = [pauseImageName, earlierPauseImageName, ...(sandboxImage === undefined ? [] : [sandboxImage])];
  return { needed: neededImages(pods ?? []), containers, pauseImages: pauseImages.map(imageKey) };
}

/** Why the image is kept. Returns undefined if nothing uses it, and its further names are all to be removed. */
function whyKept(name: string, image: Image, users: Users, removed: readonly string[]): string | undefined {
  const keys = new Set(imageKeys(image));
  const isUsed = (key: string): boolean => keys.has(key);
  const declaring = users.needed.filter((needed) => isUsed(imageKey(needed.image))).flatMap(({ pods }) => pods);
  if (declaring.length > 0) return `image ${name} is used by ${counted('pod', [...new Set(declaring)])}`;
  const running = users.containers.filter((container) => [...usedImageKeys([container])].some(isUsed));
  if (running.length > 0) return `image ${name} is used by ${counted('container', running.map(containerTitle))}`;
  if (users.pauseImages.some(isUsed)) return `image ${name} is kept for the sandboxes of all pods`;
  const wanted = new Set(removed.map(imageKey));
  const others = image.repoTags.filter((tag) => !wanted.has(imageKey(tag)));
  const isWhole = !image.repoTags.map(imageKey).includes(imageKey(name));
  return others.length === 0 || isWhole ? undefined : `image ${name} is also ${others.join(', ')}`;
}

function containerTitle({ id, labels }: Container): string {
  const pod = labels[criLabels.podName];
  if (pod === undefined) return id;
  return `${labels[criLabels.podNamespace] ?? ''}/${pod}/${labels[criLabels.containerName] ?? ''}`;
}

const counted = (what: string, names: readonly string[]): string =>
  `${what}${names.length === 1 ? '' : 's'} ${names.join(', ')}`;

import { podKey } from '../../api/values/pod-names.ts';
import type { Pod } from '../../api/types.ts';
import type { Image } from '../../cri/types.ts';
import { imageKey, imageKeys, imagesOf } from './image-keys.ts';

/** An image that pods need. */
export interface NeededImage {
  /** The image as the manifest names it. */
  image: string;
  /** The pods that need it, as `namespace/name`, each once. */
  pods: string[];
}

/** Returns the images of all containers and image volumes of the pods, each once, in the order of the pods. */
export function neededImages(pods: readonly Pod[]): NeededImage[] {
  const needed = new Map<string, NeededImage>();
  for (const pod of pods) {
    const name = podKey(pod.metadata);
    for (const image of imagesOf(pod)) {
      const known = needed.get(imageKey(image)) ?? { image, pods: [] };
      if (!known.pods.includes(name)) known.pods.push(name);
      needed.set(imageKey(image), known);
    }
  }
  return [...needed.values()];
}

/** Returns the needed images that the runtime does not have. */
export function missingImages(needed: readonly NeededImage[], images: readonly Image[]): NeededImage[] {
  const present = new Set(images.flatMap(imageKeys));
  return needed.filter(({ image }) => !present.has(imageKey(image)));
}

/** Returns one line per image, such as ` docker.io/app:1 (pod default/web)`. */
export function neededText(needed: readonly NeededImage[]): string {
  return needed
    .map(({ image, pods }) => (pods.length === 0 ? `  ${image}` : `  ${image} (pod ${pods.join(', ')})`))
    .join('\n');
}

/** Returns the runtime's own name of an image. Returns undefined if the runtime has no name for it. */
export function storedName(image: string, images: readonly Image[]): string | undefined {
  const key = imageKey(image);
  const found = images.find((candidate) => imageKeys(candidate).includes(key));
  const names = [...(found?.repoTags ?? []), ...(found?.repoDigests ?? [])];
  return names.find((name) => imageKey(name) === key) ?? names[0];
}

/** Returns, sorted by name, the images that the runtime does not pin and whose keys (`imageKey`) are not in `used`. */
export function unusedImages(images: readonly Image[], used: ReadonlySet<string>): Image[] {
  return images
    .filter((image) => !image.pinned && !imageKeys(image).some((key) => used.has(key)))
    .toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

/** Returns what to call an image in messages: its tags, else its digest, else its id. */
export const nameOf = ({ repoTags, repoDigests, id }: Image): string =>
  repoTags.length > 0 ? repoTags.join(', ') : (repoDigests[0] ?? id);

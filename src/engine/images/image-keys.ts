import { parseImageName } from '../../api/values/image-name.ts';
import type { Pod } from '../../api/types.ts';
import type { Container, Image } from '../../cri/types.ts';

/** Returns the full names of the images in pod specs, where names may be short. */
export function declaredImageKeys(pods: readonly Pod[]): Set<string> {
  return new Set(pods.flatMap(imagesOf).map(imageKey));
}

/** Returns all names of an image, in full. */
export function imageKeys({ id, repoTags, repoDigests }: Image): string[] {
  return [id, ...repoTags, ...repoDigests].map(imageKey);
}

/** Returns the image names of all containers in the runtime, in any state. kubelet: image_gc_manager.go detectImages */
export function usedImageKeys(containers: readonly Container[]): Set<string> {
  return new Set(
    containers.flatMap(({ imageId, imageRef, image }) => [imageId, imageRef, image?.image ?? '']).map(imageKey),
  );
}

/**
 * Returns the full name, such as `docker.io/library/busybox:latest` for `busybox`. A digest wins over a tag. An id
 * stays as it is.
 */
export function imageKey(reference: string): string {
  const name = parseImageName(reference);
  if (name === undefined || /^sha256:[a-f0-9]{64}$/.test(reference)) return reference;
  return name.digest === '' ? `${name.repository}:${name.tag}` : `${name.repository}@${name.digest}`;
}

/** Returns the images of all containers and image volumes of a pod, as written. */
export const imagesOf = (pod: Pod): string[] => imageUses(pod).map(({ image }) => image);

/** Returns the images of a pod, as written, each with its pull policy. */
export function imageUses({ spec }: Pod): { image: string; pullPolicy: string | undefined }[] {
  const containers = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  const uses = [
    ...containers.map(({ image = '', imagePullPolicy }) => ({ image, pullPolicy: imagePullPolicy })),
    ...(spec.volumes ?? []).map(({ image }) => ({ image: image?.reference ?? '', pullPolicy: image?.pullPolicy })),
  ];
  return uses.filter(({ image }) => image !== '');
}

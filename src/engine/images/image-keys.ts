import { parseImageName } from '../../api/values/image-name.ts';
import type { Pod } from '../../api/types.ts';
import type { Container, Image } from '../../cri/types.ts';

/** Full names of the images in pod specs, which may be written short. */
export function declaredImageKeys(pods: readonly Pod[]): Set<string> {
  return new Set(pods.flatMap(imagesOf).map(imageKey));
}

/** All names of an image, in full. */
export function imageKeys({ id, repoTags, repoDigests }: Image): string[] {
  return [id, ...repoTags, ...repoDigests].map(imageKey);
}

/** Image names of all containers in the runtime, in any state. kubelet: image_gc_manager.go detectImages */
export function usedImageKeys(containers: readonly Container[]): Set<string> {
  return new Set(
    containers.flatMap(({ imageId, imageRef, image }) => [imageId, imageRef, image?.image ?? '']).map(imageKey),
  );
}

/** `docker.io/library/busybox:latest` for `busybox`. With tag and digest the digest is used. An id is its own key. */
export function imageKey(reference: string): string {
  const name = parseImageName(reference);
  if (name === undefined || /^sha256:[a-f0-9]{64}$/.test(reference)) return reference;
  return name.digest === '' ? `${name.repository}:${name.tag}` : `${name.repository}@${name.digest}`;
}

/** Images of all containers and image volumes of a pod, as written. */
export const imagesOf = (pod: Pod): string[] => imageUses(pod).map(({ image }) => image);

/** Images of a pod, as written, each with its pull policy. */
export function imageUses({ spec }: Pod): { image: string; pullPolicy: string | undefined }[] {
  const containers = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  const uses = [
    ...containers.map(({ image = '', imagePullPolicy }) => ({ image, pullPolicy: imagePullPolicy })),
    ...(spec.volumes ?? []).map(({ image }) => ({ image: image?.reference ?? '', pullPolicy: image?.pullPolicy })),
  ];
  return uses.filter(({ image }) => image !== '');
}

import type { Container, Pod } from '../../api/types.ts';
import type { Image } from '../../cri/types.ts';
import type { ImageManager, PullRequest } from '../images/image-manager.ts';
import type { MountedVolume } from '../volumes/volume-mounter.ts';

/** The images of a pod's image volumes, by volume, each pulled at most once in a sync. */
export type ImagesOfSync = Map<string, Promise<Image>>;

/**
 * Adds the images of the pod's image volumes. Pulls missing images, also of volumes that no container mounts. Rejects
 * with a `ContainerStartError`, as for the image of a container, if the container mounts a volume without its image.
 * kubelet: kuberuntime_manager.go getImageVolumes
 */
export async function withImageVolumes(
  imageManager: ImageManager,
  start: PullRequest & { volumes: ReadonlyMap<string, MountedVolume>; imagesOfSync: ImagesOfSync },
): Promise<ReadonlyMap<string, MountedVolume>> {
  const { pod, container, volumes, imagesOfSync } = start;
  const withImages = new Map(volumes);
  for (const { name, reference, asContainer, isMounted } of imageVolumes(pod, container)) {
    const volume = volumes.get(name);
    if (volume === undefined) continue;
    const pull =
      imagesOfSync.get(name) ?? imageManager.ensureImageExists({ ...start, container: asContainer, owner: container });
    imagesOfSync.set(name, pull);
    // An event reports the failure. It does not concern this container.
    if (!isMounted) await pull.catch(() => undefined);
    else {
      const annotations = pod.metadata.annotations ?? {};
      const found = await imageManager.forVolume(pull);
      const image = { image: found.id, userSpecifiedImage: reference, annotations };
      withImages.set(name, { ...volume, image });
    }
  }
  return withImages;
}

/** Pulls the images of a container's image volumes before it can start. Rejects like `withImageVolumes`. */
export async function prepullImageVolumes(imageManager: ImageManager, request: PullRequest): Promise<void> {
  const { pod, container } = request;
  for (const { asContainer, isMounted } of imageVolumes(pod, container)) {
    if (isMounted) await imageManager.prepull({ ...request, container: asContainer, owner: container });
  }
}

interface ImageVolume {
  name: string;
  reference: string;
  /** A container that stands for its image. */
  asContainer: Container;
  isMounted: boolean;
}

function imageVolumes(pod: Pod, container: Container): ImageVolume[] {
  const mounted = new Set((container.volumeMounts ?? []).map(({ name }) => name));
  return (pod.spec.volumes ?? []).flatMap(({ name, image }) => {
    if (image === undefined) return [];
    const { reference = '', pullPolicy = 'IfNotPresent' } = image;
    const asContainer = { name: container.name, image: reference, imagePullPolicy: pullPolicy };
    return [{ name, reference, asContainer, isMounted: mounted.has(name) }];
  });
}

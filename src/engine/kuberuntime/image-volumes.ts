import type { Container, Pod } from '../../api/types.ts';
import type { ImageManager, PullRequest } from '../images/image-manager.ts';
import type { MountedVolume } from '../volumes/volume-mounter.ts';

/**
 * Adds the images of the image volumes that the container mounts. Pulls missing images. Rejects with a
 * `ContainerStartError`, as for the image of a container. kubelet: kuberuntime_manager.go getImageVolumes
 */
export async function withImageVolumes(
  imageManager: ImageManager,
  start: PullRequest & { volumes: ReadonlyMap<string, MountedVolume> },
): Promise<ReadonlyMap<string, MountedVolume>> {
  const { pod, container, volumes } = start;
  const withImages = new Map(volumes);
  for (const { name, reference, asContainer } of imageVolumes(pod, container)) {
    const volume = volumes.get(name);
    if (volume === undefined) continue;
    const { id } = await imageManager.ensureImageExists({ ...start, container: asContainer, owner: container });
    const annotations = pod.metadata.annotations ?? {};
    withImages.set(name, { ...volume, image: { image: id, userSpecifiedImage: reference, annotations } });
  }
  return withImages;
}

/** Pulls the images of a container's image volumes before it can start. Rejects like `withImageVolumes`. */
export async function pullImageVolumesAhead(imageManager: ImageManager, request: PullRequest): Promise<void> {
  const { pod, container } = request;
  for (const { asContainer } of imageVolumes(pod, container)) {
    await imageManager.pullAhead({ ...request, container: asContainer, owner: container });
  }
}

/** The image volumes that a container mounts, each with a container that stands for its image. */
function imageVolumes(pod: Pod, container: Container): { name: string; reference: string; asContainer: Container }[] {
  const mounted = new Set((container.volumeMounts ?? []).map(({ name }) => name));
  return (pod.spec.volumes ?? []).flatMap(({ name, image }) => {
    if (image === undefined || !mounted.has(name)) return [];
    const { reference = '', pullPolicy = 'IfNotPresent' } = image;
    return [{ name, reference, asContainer: { name: container.name, image: reference, imagePullPolicy: pullPolicy } }];
  });
}

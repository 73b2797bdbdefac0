import type { ImageManager, PullRequest } from '../images/image-manager.ts';
import type { MountedVolume } from '../volumes/volume-manager.ts';

/**
 * The volumes of a pod, with the image of every image volume that the container mounts: it is pulled when it is not there.
 * Rejects with a `ContainerStartError`, as for the image of a container. kubelet: kuberuntime_manager.go getImageVolumes
 */
export async function withImageVolumes(
  imageManager: ImageManager,
  start: PullRequest & { volumes: ReadonlyMap<string, MountedVolume> },
): Promise<ReadonlyMap<string, MountedVolume>> {
  const { pod, container, volumes } = start;
  const mounted = new Set((container.volumeMounts ?? []).map(({ name }) => name));
  const withImages = new Map(volumes);
  for (const { name, image } of pod.spec.volumes ?? []) {
    const volume = volumes.get(name);
    if (image === undefined || volume === undefined || !mounted.has(name)) continue;
    const { reference = '', pullPolicy = 'IfNotPresent' } = image;
    const wanted = { name: container.name, image: reference, imagePullPolicy: pullPolicy };
    const { id } = await imageManager.ensureImageExists({ ...start, container: wanted });
    const annotations = pod.metadata.annotations ?? {};
    withImages.set(name, { ...volume, image: { image: id, userSpecifiedImage: reference, annotations } });
  }
  return withImages;
}

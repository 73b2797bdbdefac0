import { join } from 'node:path';
import type { Pod, Volume } from '../../api/types.ts';
import { unmountableVolumes } from '../../api/values/unmountable-volumes.ts';
import type { Clock } from '../../clock.ts';
import type { ContainerConfig } from '../../cri/types.ts';
import { toError, UserError } from '../../errors.ts';
import type { PodDirs } from '../host/pod-dirs.ts';
import { hasPayload } from './atomic-writer.ts';
import { setUpEmptyDir } from './empty-dir.ts';
import { checkHostPath } from './host-path.ts';
import { passesMountsOn } from './mount-propagation.ts';
import { shareMountsBelow } from '../host/mounts.ts';
import { payloadKindOf, setUpPayloadVolume } from './payload-volume.ts';
import { removeTree } from '../host/remove-tree.ts';
import type { PayloadSources } from './volume-payload.ts';

/** Where a volume of a pod is on the host, ready to be mounted into a container. kubelet: pkg/volume Attributes */
export interface MountedVolume {
  /** Empty for an image, which the runtime mounts by itself. */
  hostPath: string;
  /** What the runtime mounts, once it is there. */
  image?: NonNullable<NonNullable<ContainerConfig['mounts']>[number]['image']>;
  /** Containers can only read it, whatever their mount says. */
  readOnly: boolean;
  /** It is the pod's own, so that SELinux may label it as the container's. */
  managed: boolean;
}

export interface PodVolumes {
  /** By name: those that can be mounted. */
  mounted: ReadonlyMap<string, MountedVolume>;
  /** By name: why a volume could not be set up or brought up to date. One that is mounted as well keeps what it had. */
  failures: ReadonlyMap<string, Error>;
}

interface Deps extends PayloadSources {
  podDirs: PodDirs;
  clock: Pick<Clock, 'now'>;
  /** Images may be volumes: feature gate ImageVolume. */
  imageVolumes: boolean;
}

/**
 * Sets up and takes down the volumes of pods under `<root-dir>/pods/<uid>/volumes`. What a crash leaves half done, the next
 * set-up or removal ends. kubelet: volumemanager
 */
export class VolumeManager {
  private readonly deps: Deps;

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /**
   * Sets up every volume that a container of the pod mounts, and brings up to date what follows ConfigMaps, Secrets or the
   * pod; everything else stays as the containers left it. One call at a time for a pod.
   */
  async mountPodVolumes(pod: Pod): Promise<PodVolumes> {
    const wanted = mountedVolumeNames(pod);
    const mounted = new Map<string, MountedVolume>();
    const failures = new Map<string, Error>();
    for (const volume of (pod.spec.volumes ?? []).filter(({ name }) => wanted.has(name))) {
      const mount = this.mountOf(pod, volume);
      try {
        await this.setUp(pod, volume, mount);
        // What is not the pod's own is shared by the machine, or the runtime says that it is not.
        if (mount.managed && passesMountsOn(pod, volume.name)) await shareMountsBelow(mount.hostPath);
        mounted.set(volume.name, mount);
      } catch (error) {
        failures.set(volume.name, toError(error));
        if (payloadKindOf(volume) && (await hasPayload(mount.hostPath))) mounted.set(volume.name, mount);
      }
    }
    return { mounted, failures };
  }

  /** Unmounts and removes the volumes of a pod that has terminated; the rest of its folder stays. Absent is fine. */
  async unmountPodVolumes(uid: string): Promise<void> {
    const podDir = this.deps.podDirs.podDir(uid);
    // The markers go before what they are about: a volume without one is made anew.
    for (const folder of ['volume-subpaths', 'plugins', 'volumes']) await removeTree(join(podDir, folder));
  }

  /** Where an emptyDir of a pod is once it is set up. */
  emptyDirPath(uid: string, name: string): string {
    return join(this.deps.podDirs.podDir(uid), 'volumes', 'kubernetes.io~empty-dir', name);
  }

  /** Where every volume of a pod is once it is set up, by name. */
  mountPoints(pod: Pod): Map<string, MountedVolume> {
    return new Map((pod.spec.volumes ?? []).map((volume) => [volume.name, this.mountOf(pod, volume)]));
  }

  private mountOf(pod: Pod, volume: Volume): MountedVolume {
    if (volume.hostPath) return { hostPath: volume.hostPath.path, readOnly: false, managed: false };
    if (volume.image) return { hostPath: '', readOnly: true, managed: false };
    const payloadKind = payloadKindOf(volume);
    if (!payloadKind)
      return { hostPath: this.emptyDirPath(pod.metadata.uid, volume.name), readOnly: false, managed: true };
    const hostPath = join(this.deps.podDirs.podDir(pod.metadata.uid), 'volumes', payloadKind.plugin, volume.name);
    return { hostPath, readOnly: true, managed: true };
  }

  private async setUp(pod: Pod, volume: Volume, { hostPath: path }: MountedVolume): Promise<void> {
    const { podDirs, allocatable, clock, imageVolumes } = this.deps;
    const podDir = podDirs.podDir(pod.metadata.uid);
    const payloadKind = payloadKindOf(volume);
    if (volume.hostPath) {
      await checkHostPath(volume.hostPath);
    } else if (volume.emptyDir) {
      const { name, emptyDir: source } = volume;
      await setUpEmptyDir({ pod, podDir, name, path, source, allocatableMemory: allocatable['memory'] });
    } else if (payloadKind) {
      const { medium } = payloadKind;
      await setUpPayloadVolume({ pod, podDir, volume, path, medium, now: clock.now(), sources: this.deps });
    } else if (!volume.image) {
      throw unmountable(volume);
    } else if (!imageVolumes) {
      throw new UserError('image: the feature gate ImageVolume is off');
    }
  }
}

function unmountable(volume: Volume): UserError {
  const kind = Object.keys(volume).find((key) => key !== 'name') ?? 'unknown';
  return new UserError(`${kind}: ${unmountableVolumes[kind] ?? 'volumes of this kind are not known'}`, {
    hint: 'Use emptyDir, hostPath, configMap, secret, projected or downwardAPI.',
  });
}

function mountedVolumeNames({ spec }: Pod): Set<string> {
  return new Set(
    [...(spec.initContainers ?? []), ...spec.containers].flatMap(({ volumeMounts = [], volumeDevices = [] }) =>
      [...volumeMounts, ...volumeDevices].map(({ name }) => name),
    ),
  );
}

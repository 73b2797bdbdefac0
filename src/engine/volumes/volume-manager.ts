import { join } from 'node:path';
import type { Pod, Volume } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import { toError } from '../../errors.ts';
import type { PodDirs } from '../host/pod-dirs.ts';
import { emptyDirPath } from './empty-dir.ts';
import { passesMountsOn } from './mount-propagation.ts';
import { shareMountsBelow } from '../host/mounts.ts';
import { removeTree } from '../host/remove-tree.ts';
import { volumeMounter } from './volume-kinds.ts';
import type { MountedVolume, VolumeMounter } from './volume-mounter.ts';
import type { PayloadSources } from './volume-payload.ts';

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
    const mounted = new Map<string, MountedVolume>();
    const failures = new Map<string, Error>();
    for (const volume of mountedVolumes(pod)) {
      let mounter: VolumeMounter | undefined;
      try {
        mounter = this.mounterOf(pod, volume);
        const { mount } = mounter;
        await mounter.setUp();
        // What is not the pod's own is shared by the machine, or the runtime says that it is not.
        if (mount.managed && passesMountsOn(pod, volume.name)) await shareMountsBelow(mount.hostPath);
        mounted.set(volume.name, mount);
      } catch (error) {
        failures.set(volume.name, toError(error));
        if ((await mounter?.hasContent?.()) === true && mounter) mounted.set(volume.name, mounter.mount);
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
    return emptyDirPath(this.deps.podDirs.podDir(uid), name);
  }

  /**
   * Where every volume that a container of the pod mounts is once it is set up, by name. Throws a `UserError` for a kind that
   * cannot be mounted.
   */
  mountPoints(pod: Pod): Map<string, MountedVolume> {
    return new Map(mountedVolumes(pod).map((volume) => [volume.name, this.mounterOf(pod, volume).mount]));
  }

  private mounterOf(pod: Pod, volume: Volume): VolumeMounter {
    const { podDirs, clock, ...deps } = this.deps;
    return volumeMounter({ ...deps, pod, volume, podDir: podDirs.podDir(pod.metadata.uid), now: () => clock.now() });
  }
}

/** Those that a container of the pod mounts. */
function mountedVolumes({ spec }: Pod): Volume[] {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  const mounts = containers.flatMap(({ volumeMounts = [], volumeDevices = [] }) => [...volumeMounts, ...volumeDevices]);
  const names = new Set(mounts.map(({ name }) => name));
  return (spec.volumes ?? []).filter(({ name }) => names.has(name));
}

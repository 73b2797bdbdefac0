import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod, Volume } from '../../api/types.ts';
import { hasCode, UserError } from '../../errors.ts';
import { setUpEmptyDir } from './empty-dir.ts';
import { checkHostPath } from './host-path.ts';
import { removeTree } from './remove-tree.ts';

/** Where a volume of a pod is on the host, ready to be mounted into a container. */
export interface MountedVolume {
  hostPath: string;
}

/** Sets up and takes down the volumes of pods under `<root-dir>/pods/<uid>/volumes`. kubelet: volumemanager */
export class VolumeManager {
  private readonly rootDir: string;

  constructor(deps: { rootDir: string }) {
    this.rootDir = deps.rootDir;
  }

  /** `<root-dir>/pods/<uid>` */
  podDir(uid: string): string {
    return join(this.rootDir, 'pods', uid);
  }

  /** The pods that have a folder: those this agent started and has not removed. */
  async podUIDs(): Promise<string[]> {
    try {
      return await readdir(join(this.rootDir, 'pods'));
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return [];
      throw error;
    }
  }

  /**
   * Sets up every volume that a container of the pod mounts; what is there already stays as it is. Rejects with the reason
   * of the first volume that cannot be set up.
   */
  async mountPodVolumes(pod: Pod): Promise<ReadonlyMap<string, MountedVolume>> {
    const wanted = mountedVolumeNames(pod);
    const mounted = new Map<string, MountedVolume>();
    for (const volume of pod.spec.volumes ?? []) {
      if (wanted.has(volume.name)) mounted.set(volume.name, await this.setUp(pod, volume));
    }
    return mounted;
  }

  /** Unmounts and removes the volumes of a pod that has terminated; the rest of its folder stays. Absent is fine. */
  async unmountPodVolumes(uid: string): Promise<void> {
    // The markers go first: a volume without one is made anew.
    await removeTree(join(this.podDir(uid), 'plugins'));
    await removeTree(join(this.podDir(uid), 'volumes'));
  }

  /** Unmounts and removes everything of the pod. Never deletes through a mount. Absent is fine. */
  async removePodDir(uid: string): Promise<void> {
    await removeTree(this.podDir(uid));
  }

  private async setUp(pod: Pod, volume: Volume): Promise<MountedVolume> {
    if (volume.hostPath !== undefined) {
      await checkHostPath(volume.hostPath);
      return { hostPath: volume.hostPath.path };
    }
    if (volume.emptyDir !== undefined) {
      return { hostPath: await setUpEmptyDir(this.podDir(pod.metadata.uid), volume.name, volume.emptyDir) };
    }
    const kind = Object.keys(volume).find((key) => key !== 'name') ?? 'unknown';
    throw new UserError(`volume "${volume.name}": volumes of type ${kind} are not supported yet`, {
      hint: 'Use emptyDir or hostPath.',
    });
  }
}

function mountedVolumeNames({ spec }: Pod): Set<string> {
  return new Set(
    [...(spec.initContainers ?? []), ...spec.containers].flatMap(({ volumeMounts = [], volumeDevices = [] }) =>
      [...volumeMounts, ...volumeDevices].map(({ name }) => name),
    ),
  );
}

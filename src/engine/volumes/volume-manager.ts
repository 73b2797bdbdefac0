import { join } from 'node:path';
import type { Pod, Volume } from '../../api/types.ts';
import { initAndRegularContainers } from '../../api/values/containers.ts';
import type { Clock } from '../../clock.ts';
import { toError } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { namesIn } from '../../files/names-in.ts';
import { pathExists } from '../../files/path-exists.ts';
import { isFileName, type PodDirs } from '../host/pod-dirs.ts';
import type { FsUsage } from '../host/fs-usage.ts';
import type { CSIVolumes } from '../csi/csi-volumes.ts';
import { claimNotes } from '../persistent-volumes/claim-uses.ts';
import type { PathGuard } from '../host/path-guard.ts';
import type { VolumeClaims } from '../persistent-volumes/volume-claims.ts';
import { emptyDirPath } from './empty-dir.ts';
import { shareMountsBelow } from '../host/mounts.ts';
import { removeTree } from '../host/remove-tree.ts';
import type { Meter } from '../view/meter.ts';
import { volumePlugin } from '../../api/values/volume-plugin.ts';
import { unlessHung } from './host-path.ts';
import { type MeasuredVolume, measuredVolume } from './measured-volume.ts';
import { nfsFolder } from './nfs-volume.ts';
import { volumeMounter } from './volume-kinds.ts';
import type { MountedVolume, VolumeMounter } from './volume-mounter.ts';
import type { PayloadSources } from './volume-payload.ts';

export interface PodVolumes {
  /** Mountable volumes, by name. */
  mounted: ReadonlyMap<string, MountedVolume>;
  /**
   * Errors of volumes that could not be set up or updated, by name. A volume that is also in `mounted` keeps its old
   * content.
   */
  failures: ReadonlyMap<string, Error>;
}

interface Deps extends PayloadSources {
  podDirs: PodDirs;
  clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Feature gate ImageVolume. */
  imageVolumes: boolean;
  claims: VolumeClaims;
  /** Undefined on a node without plugins. */
  csi?: CSIVolumes | undefined;
  /** Called with the UID of a pod whose claim was in use by another pod, and may be free now. */
  onClaimFreed?: (uid: string) => void;
  meter?: Pick<Meter, 'observe'> | undefined;
  logger?: Pick<Logger, 'warn'> | undefined;
  /** One thread of Node. Hung manifests hold two, and the last one is for all else. */
  paths: PathGuard;
}

/**
 * Sets up and removes the volumes of pods under `<root-dir>/pods/<uid>/volumes`. The next set-up or removal completes
 * an interrupted one. kubelet: volumemanager
 */
export class VolumeManager {
  constructor(private readonly deps: Deps) {}

  /**
   * Sets up every volume that a container of the pod mounts. Updates those made from ConfigMaps, Secrets or the pod.
   * All others keep their content. The signal ends calls to drivers. One call at a time per pod.
   */
  async mountPodVolumes(pod: Pod, signal?: AbortSignal): Promise<PodVolumes> {
    const mounted = new Map<string, MountedVolume>();
    const failures = new Map<string, Error>();
    for (const volume of mountedVolumes(pod)) {
      let mounter: VolumeMounter | undefined;
      try {
        mounter = this.mounterOf(pod, volume, signal);
        await this.measured(volume, mounter.setUp());
        const { mount } = mounter;
        if (mayHang(mount) && hasSubPath(pod, volume.name)) {
          await unlessHung(`volume "${volume.name}" has a subPath`, this.deps.paths.check(mount.hostPath));
        }
        // Other volumes are shared by the machine, or the runtime reports that they are not.
        if (mount.managed && mount.persistent !== true && passesMountsOn(pod, volume.name))
          await shareMountsBelow(mount.hostPath);
        mounted.set(volume.name, mount);
      } catch (error) {
        failures.set(volume.name, toError(error));
        if ((await mounter?.hasContent?.()) === true && mounter) mounted.set(volume.name, mounter.mount);
      }
    }
    return { mounted, failures };
  }

  /**
   * Unmounts and removes the volumes of a terminated pod. The rest of its folder stays, and so do the data of its
   * claims. Does nothing if they are missing.
   */
  async unmountPodVolumes(uid: string): Promise<void> {
    // Such a pod has no folder.
    if (!isFileName(uid)) return;
    const podDir = this.deps.podDirs.podDir(uid);
    await this.deps.csi?.tearDownPod(uid);
    for (const folder of await foldersToRemove(podDir)) await removeTree(join(podDir, folder));
    this.podRemoved();
  }

  /**
   * Unmounts the claims and shares of a stopped pod, so that other pods may use them. Volumes with data of the pod's
   * own stay. The next set-up mounts the others again. Does nothing if they are missing.
   */
  async unmountStoppedPod(uid: string): Promise<void> {
    if (!isFileName(uid)) return;
    const podDir = this.deps.podDirs.podDir(uid);
    // Parts of volumes come first, because a driver cannot release a volume in use.
    await removeIfPresent(join(podDir, 'volume-subpaths'));
    await this.deps.csi?.tearDownPersistent(uid);
    await removeIfPresent(nfsFolder(podDir));
    // The claims are in use until here.
    await removeIfPresent(join(podDir, 'plugins', claimNotes));
    this.podRemoved();
  }

  /** Wakes the pods that waited for a claim of another pod, after one pod less uses claims. */
  podRemoved(): void {
    for (const uid of this.deps.claims.takeWaiting()) this.deps.onClaimFreed?.(uid);
  }

  /** kubelet: volume/util/operationexecutor operation_executor.go, volume/util/metrics.go */
  private async measured(volume: Volume, setUp: Promise<void>): Promise<void> {
    const { meter, clock } = this.deps;
    const startedAtMonotonic = clock.monotonic();
    let status = 'fail-unknown';
    try {
      await setUp;
      status = 'success';
    } finally {
      const [seconds, plugin] = [(clock.monotonic() - startedAtMonotonic) / 1000, volumePlugin(volume)];
      const operation = { operation_name: 'volume_mount' };
      meter?.observe('storage_operation_duration_seconds', seconds, {
        ...operation,
        volume_plugin: plugin,
        status,
        migrated: 'false',
      });
      if (status === 'success') {
        meter?.observe('volume_operation_total_seconds', seconds, { ...operation, plugin_name: plugin });
      }
    }
  }

  /** Path of a pod's emptyDir on the host. */
  emptyDirPath(uid: string, name: string): string {
    return emptyDirPath(this.deps.podDirs.podDir(uid), name);
  }

  /**
   * Mount points of every volume that a container of the pod mounts, by name. Throws a `UserError` for a kind that
   * cannot be mounted.
   */
  mountPoints(pod: Pod): Map<string, MountedVolume> {
    return new Map(mountedVolumes(pod).map((volume) => [volume.name, this.mounterOf(pod, volume).mount]));
  }

  /** The mounted volumes of a pod with usage of their own. Leaves out those that could not be mounted now. */
  measuredVolumes(pod: Pod): MeasuredVolume[] {
    const { claims } = this.deps;
    return mountedVolumes(pod).flatMap((volume) => {
      try {
        return measuredVolume(volume, { pod, claims, mount: this.mounterOf(pod, volume).mount }) ?? [];
      } catch {
        return [];
      }
    });
  }

  /**
   * Usage of a volume as its CSI driver reports it. Resolves with undefined if it reports none, rejects with a
   * `UserError` if the driver fails.
   */
  async driverUsage(podUID: string, specName: string, signal: AbortSignal): Promise<FsUsage | undefined> {
    return this.deps.csi?.usage(podUID, specName, { signal });
  }

  private mounterOf(pod: Pod, volume: Volume, signal?: AbortSignal): VolumeMounter {
    const { podDirs, clock, ...deps } = this.deps;
    const podDir = podDirs.podDir(pod.metadata.uid);
    return volumeMounter({ ...deps, pod, volume, podDir, signal, now: () => clock.now() });
  }
}

/**
 * Folders of a pod, in the order of their removal. Markers come before volumes, because a volume without one is made
 * again. Notes of claims come after volumes, because the claims are in use until then. Only folders that are there,
 * because each removal reads all mounts of the machine.
 */
async function foldersToRemove(podDir: string): Promise<string[]> {
  const present = await namesIn(podDir);
  const plugins = await namesIn(join(podDir, 'plugins'));
  const markers = plugins.filter((name) => name !== claimNotes).map((name) => join('plugins', name));
  const order = plugins.includes(claimNotes) ? [...markers, 'volumes', 'plugins'] : ['plugins', 'volumes'];
  return ['volume-subpaths', ...order].filter((folder) => present.includes(folder) || markers.includes(folder));
}

/** Removes a folder. Reads the mounts of the machine only if it is there. */
async function removeIfPresent(folder: string): Promise<void> {
  if (await pathExists(folder)) await removeTree(folder);
}

/** Volumes that a container of the pod mounts. */
function mountedVolumes({ spec }: Pod): Volume[] {
  const containers = initAndRegularContainers(spec);
  const mounts = containers.flatMap(({ volumeMounts = [], volumeDevices = [] }) => [...volumeMounts, ...volumeDevices]);
  const names = new Set(mounts.map(({ name }) => name));
  return (spec.volumes ?? []).filter(({ name }) => names.has(name));
}

/** True for a volume that other machines or programs may serve. */
const mayHang = ({ hostPath, managed, persistent }: MountedVolume): boolean =>
  hostPath !== '' && (!managed || persistent === true);

/** True if a container mounts a part of the volume, for which the agent goes into it. */
function hasSubPath({ spec }: Pod, volumeName: string): boolean {
  return initAndRegularContainers(spec).some(({ volumeMounts = [] }) =>
    volumeMounts.some(({ name, subPath, subPathExpr }) => name === volumeName && Boolean(subPath ?? subPathExpr)),
  );
}

/** True if a container propagates mounts in this volume, in either direction. Then runtimes require a shared mount. */
function passesMountsOn({ spec }: Pod, volumeName: string): boolean {
  return initAndRegularContainers(spec).some(({ volumeMounts = [] }) =>
    volumeMounts.some(({ name, mountPropagation = 'None' }) => name === volumeName && mountPropagation !== 'None'),
  );
}

import { join } from 'node:path';
import type { Pod, Volume } from '../../api/types.ts';
import { initAndRegularContainers } from '../../api/values/containers.ts';
import type { Clock } from '../../clock.ts';
import { toError } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { listFolder } from '../../files/list-folder.ts';
import { pathExists } from '../../files/path-exists.ts';
import { isFileName, type PodDirs } from '../host/pod-dirs.ts';
import type { FsUsage } from '../host/fs-usage.ts';
import type { CSIVolumes } from '../csi/csi-volumes.ts';
import { claimRecords } from '../persistent-volumes/claim-uses.ts';
import type { PathGuard } from '../host/path-guard.ts';
import type { VolumeClaims } from '../persistent-volumes/volume-claims.ts';
import { emptyDirPath } from './empty-dir.ts';
import { shareMountsBelow } from '../host/mounts.ts';
import { removeTree } from '../host/remove-tree.ts';
import type { Meter } from '../view/meter.ts';
import { volumePlugin } from '../../api/values/volume-plugin.ts';
import { failIfHung } from './host-path.ts';
import { type MeasuredVolume, measuredVolume } from './measured-volume.ts';
import { nfsFolder } from './nfs-volume.ts';
import { volumeMounter } from './volume-kinds.ts';
import type { MountedVolume, VolumeMounter } from './volume-mounter.ts';
import type { ContentSources } from './projected-content.ts';

export interface PodVolumes {
  /** Mountable volumes, by name. */
  mounted: ReadonlyMap<string, MountedVolume>;
  /**
   * Errors of volumes that could not be set up or updated, by name. If such a volume is also in `mounted`, it has its
   * old content.
   */
  failures: ReadonlyMap<string, Error>;
}

interface Deps extends ContentSources {
  podDirs: PodDirs;
  clock: Pick<Clock, 'now' | 'monotonic'>;
  claims: VolumeClaims;
  /** Undefined if the node has no plugins. */
  csi?: CSIVolumes | undefined;
  /** Called with the UID of a pod that waited for a claim which may now be free. */
  onClaimFreed?: (uid: string) => void;
  meter?: Pick<Meter, 'observe'> | undefined;
  logger?: Pick<Logger, 'warn'> | undefined;
  /** Uses at most one thread of Node's pool. Hung manifests block two; the last one serves everything else. */
  paths: PathGuard;
}

/**
 * Sets up and removes the volumes of pods under `<root-dir>/pods/<uid>/volumes`. The next set-up or removal completes
 * an interrupted one. kubelet: volumemanager
 */
export class VolumeManager {
  constructor(private readonly deps: Deps) {}

  /**
   * Sets up every volume that a container of the pod mounts. Updates volumes whose content comes from ConfigMaps,
   * Secrets or the pod; all others keep their content. The signal cancels calls to drivers. Call it once at a time per
   * pod.
   */
  async mountPodVolumes(pod: Pod, signal?: AbortSignal): Promise<PodVolumes> {
    const mounted = new Map<string, MountedVolume>();
    const failures = new Map<string, Error>();
    for (const volume of mountedVolumes(pod)) {
      let mounter: VolumeMounter | undefined;
      try {
        mounter = this.mounterOf(pod, volume, signal);
        await this.recordDuration(volume, mounter.setUp());
        const { mount } = mounter;
        if (mayHang(mount) && hasSubPath(pod, volume.name)) {
          await failIfHung(`volume "${volume.name}" has a subPath`, this.deps.paths.check(mount.hostPath));
        }
        // Mounts on other paths are already shared, or the runtime reports that they are not.
        if (mount.managed && mount.persistent !== true && propagatesMounts(pod, volume.name))
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
   * Unmounts and removes the volumes of a terminated pod. Keeps the rest of the pod's folder and the data of its
   * claims. Does nothing if there are no volumes.
   */
  async unmountPodVolumes(uid: string): Promise<void> {
    // A pod with this UID has no folder.
    if (!isFileName(uid)) return;
    const podDir = this.deps.podDirs.podDir(uid);
    await this.deps.csi?.tearDownPod(uid);
    for (const folder of await foldersToRemove(podDir)) await removeTree(join(podDir, folder));
    this.wakeWaitingPods();
  }

  /**
   * Unmounts the claims and shares of a stopped pod, so that other pods may use them. Keeps the volumes that hold the
   * pod's data. The next set-up mounts the claims and shares again.
   */
  async unmountStoppedPod(uid: string): Promise<void> {
    if (!isFileName(uid)) return;
    const podDir = this.deps.podDirs.podDir(uid);
    // Unmount subpaths first, because a driver cannot release a volume in use.
    await removeIfPresent(join(podDir, 'volume-subpaths'));
    await this.deps.csi?.tearDownPersistent(uid);
    await removeIfPresent(nfsFolder(podDir));
    // The claims are in use until here.
    await removeIfPresent(join(podDir, 'plugins', claimRecords));
    this.wakeWaitingPods();
  }

  /** Wakes the pods that wait for claims, because a pod has released its claims. */
  wakeWaitingPods(): void {
    for (const uid of this.deps.claims.drainWaiting()) this.deps.onClaimFreed?.(uid);
  }

  /** kubelet: volume/util/operationexecutor operation_executor.go, volume/util/metrics.go */
  private async recordDuration(volume: Volume, setUp: Promise<void>): Promise<void> {
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

  /** The mounted volumes of a pod whose usage is measured separately. Leaves out volumes that cannot be mounted now. */
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
   * Reads the usage of a volume from its CSI driver. Resolves with undefined if the driver reports no usage. Rejects
   * with a `UserError` if the driver fails.
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
 * The existing folders of a pod, in order of removal. Markers come before volumes, because a volume without a marker is
 * created again. Records of claims come after volumes, because the claims are in use until then. Missing folders are
 * left out, because each removal reads all mounts of the machine.
 */
async function foldersToRemove(podDir: string): Promise<string[]> {
  const present = await listFolder(podDir);
  const plugins = await listFolder(join(podDir, 'plugins'));
  const markers = plugins.filter((name) => name !== claimRecords).map((name) => join('plugins', name));
  const order = plugins.includes(claimRecords) ? [...markers, 'volumes', 'plugins'] : ['plugins', 'volumes'];
  return ['volume-subpaths', ...order].filter((folder) => present.includes(folder) || markers.includes(folder));
}

/** Removes a folder. Reads the mounts of the machine only if the folder exists. */
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

/** True if another machine or program may serve the volume. */
const mayHang = ({ hostPath, managed, persistent }: MountedVolume): boolean =>
  hostPath !== '' && (!managed || persistent === true);

/** True if a container mounts a subpath, because the agent then reads inside the volume. */
function hasSubPath({ spec }: Pod, volumeName: string): boolean {
  return initAndRegularContainers(spec).some(({ volumeMounts = [] }) =>
    volumeMounts.some(({ name, subPath, subPathExpr }) => name === volumeName && Boolean(subPath ?? subPathExpr)),
  );
}

/** True if a container propagates mounts of this volume in either direction. Runtimes then require a shared mount. */
function propagatesMounts({ spec }: Pod, volumeName: string): boolean {
  return initAndRegularContainers(spec).some(({ volumeMounts = [] }) =>
    volumeMounts.some(({ name, mountPropagation = 'None' }) => name === volumeName && mountPropagation !== 'None'),
  );
}

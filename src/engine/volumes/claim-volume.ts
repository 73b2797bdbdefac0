import { realpath, stat } from 'node:fs/promises';
import type { Pod, Volume } from '../../api/types.ts';
import { initAndRegularContainers } from '../../api/values/containers.ts';
import { type ByKind, byKind } from '../../api/values/by-kind.ts';
import type { ClaimName, PersistentVolume, PersistentVolumeSource } from '../../api/values/persistent-volume.ts';
import { hasCode, UserError } from '../../errors.ts';
import { persistentSpec } from '../csi/csi-volume-spec.ts';
import { targetPath } from '../csi/csi-files.ts';
import { isMountPoint } from '../host/mounts.ts';
import type { BoundClaim } from '../persistent-volumes/volume-claims.ts';
import { checkHostPathInTime, failIfHung } from './host-path.ts';
import { csiVolumes } from './csi-volume.ts';
import { mountNFS, nfsPath } from './nfs-volume.ts';
import { changesOwnershipOnMismatch, setVolumeOwnership } from './ownership.ts';
import type { MountedVolume, VolumeMounter, VolumeRequest } from './volume-mounter.ts';

type ClaimSource = NonNullable<Volume['persistentVolumeClaim']>;

/** The storage of a claim on this node. */
export interface ClaimStorage {
  hostPath: string;
  /** True if SELinux may give it the container's label. */
  managed: boolean;
  /** True if the pod's fsGroup may own it. */
  supportsFSGroup: boolean;
  /** True if containers can only read it. */
  readOnly?: boolean;
  /** True if something may be mounted on the path. */
  isMountPoint?: boolean;
  setUp: () => Promise<void>;
}

/** Mounts a claim of the pod's namespace. kubelet: volumemanager/populator createVolumeSpec */
export function claimVolume(source: ClaimSource, request: VolumeRequest): VolumeMounter {
  return new ClaimMounter(source, request);
}

/**
 * INVARIANTS: the use is recorded before anything is mounted, and the record becomes ready once the volume is complete.
 * A ready volume stays mounted when its claim is no longer declared.
 */
class ClaimMounter implements VolumeMounter {
  private readonly name: ClaimName;
  private mounted: MountedVolume | undefined;

  constructor(
    private readonly source: ClaimSource,
    private readonly request: VolumeRequest,
  ) {
    this.name = { namespace: request.pod.metadata.namespace, name: source.claimName };
  }

  /** Before the set-up, returns the expected mount. Throws a `UserError` if the claim is not bound. */
  get mount(): MountedVolume {
    if (this.mounted !== undefined) return this.mounted;
    const bound = this.request.claims.boundClaim(this.name);
    return this.mountOf(bound, this.storageOf(bound));
  }

  async setUp(): Promise<void> {
    const { pod, claims, volume } = this.request;
    const { uid } = pod.metadata;
    rejectDevices(pod, volume.name);
    const bound = await claims.bind(this.name);
    await claims.use(uid, bound.claim);
    const storage = this.storageOf(bound);
    await storage.setUp();
    const mount = this.mountOf(bound, storage);
    const ready = await claims.uses.readyMount(uid, this.name);
    if (ready?.hostPath !== mount.hostPath) {
      if (storage.supportsFSGroup && !mount.readOnly) {
        // The operator chose the path of a declared volume, which may be a link.
        await this.applyFSGroup(bound.volume === undefined ? mount.hostPath : await realpath(mount.hostPath));
      }
      const { hostPath, readOnly, managed } = mount;
      // Some drivers create a folder without a mount.
      const isMounted = storage.isMountPoint === true && (await isMountPoint(hostPath));
      await claims.uses.setReady(uid, this.name, { hostPath, readOnly, managed, isMountPoint: isMounted });
    }
    this.mounted = mount;
  }

  async hasContent(): Promise<boolean> {
    const { claims, pod } = this.request;
    const ready = await claims.uses.readyMount(pod.metadata.uid, this.name);
    if (ready === undefined) return false;
    const { isMountPoint: mustBeMounted, ...mount } = ready;
    if (mustBeMounted && !(await isMountPoint(mount.hostPath))) return false;
    this.mounted = { ...mount, persistent: true };
    return true;
  }

  private applyFSGroup(path: string): Promise<void> {
    const { pod, logger } = this.request;
    const { fsGroup } = pod.spec.securityContext ?? {};
    return setVolumeOwnership(path, {
      fsGroup,
      readOnly: false,
      onRootMismatch: changesOwnershipOnMismatch(pod),
      logger,
    });
  }

  private isReadOnly({ accessModes }: BoundClaim['claim']): boolean {
    return this.source.readOnly === true || accessModes.every((mode) => mode === 'ReadOnlyMany');
  }

  private storageOf(bound: BoundClaim): ClaimStorage {
    return claimStorage(bound, this.request, this.isReadOnly(bound.claim));
  }

  private mountOf({ claim }: BoundClaim, { hostPath, managed, readOnly = false }: ClaimStorage): MountedVolume {
    const isReadOnly = readOnly || this.isReadOnly(claim);
    return { hostPath, readOnly: isReadOnly, managed: managed && !isReadOnly, persistent: true };
  }
}

/** kubelet: volumemanager/populator createVolumeSpec */
function rejectDevices({ spec }: Pod, name: string): void {
  const containers = initAndRegularContainers(spec);
  if (!containers.some(({ volumeDevices = [] }) => volumeDevices.some((device) => device.name === name))) return;
  throw new UserError(`volume ${name} has volumeMode Filesystem, but is specified in volumeDevices`);
}

/** The storage of a bound claim. */
function claimStorage({ volume, folder }: BoundClaim, request: VolumeRequest, readOnly: boolean): ClaimStorage {
  // `bind` created the folder.
  if (volume === undefined) return { hostPath: folder, managed: true, supportsFSGroup: true, setUp: noSetUp };
  const storage = byKind(volume.source, storageKinds, { volume, request, readOnly });
  if (storage === undefined) throw new UserError(`persistentvolume "${volume.name}" has no source`);
  return storage;
}

const noSetUp = (): Promise<void> => Promise.resolve();

interface StorageRequest {
  volume: PersistentVolume;
  request: VolumeRequest;
  /** True if the pod's mount of the claim is read-only. */
  readOnly: boolean;
}

/** One row per kind of PersistentVolume. */
const storageKinds: ByKind<PersistentVolumeSource, [StorageRequest], ClaimStorage> = {
  csi: (source, { volume, request, readOnly }) => {
    const { pod, podDir, csi, signal } = request;
    return {
      hostPath: targetPath(podDir, volume.name),
      managed: true,
      supportsFSGroup: false,
      isMountPoint: true,
      setUp: () => csiVolumes(csi).setUp(persistentSpec(pod, volume, source, readOnly), signal),
    };
  },
  hostPath: (source, { request: { paths } }) => ({
    hostPath: source.path,
    managed: false,
    supportsFSGroup: false,
    setUp: () => checkHostPathInTime(source, paths),
  }),
  local: ({ path }, { request: { paths } }) => ({
    hostPath: path,
    managed: true,
    supportsFSGroup: true,
    setUp: () =>
      failIfHung(
        `path "${path}" of the local volume cannot be checked`,
        paths.check(path).then(() => checkLocalPath(path)),
      ),
  }),
  nfs: (source, { volume, request: { podDir, signal }, readOnly }) => {
    const path = nfsPath(podDir, volume.name);
    const options = { source: { ...source, readOnly }, mountOptions: volume.mountOptions, signal };
    return {
      hostPath: path,
      managed: false,
      supportsFSGroup: false,
      isMountPoint: true,
      setUp: () => mountNFS(path, options),
    };
  },
};

/** kubelet: pkg/volume/local/local.go, which mounts existing paths only */
async function checkLocalPath(path: string): Promise<void> {
  try {
    if ((await stat(path)).isDirectory()) return;
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    const hint = 'Create the folder, or mount the disk there.';
    throw new UserError(`path "${path}" of the local volume does not exist`, { hint });
  }
  throw new UserError(`path "${path}" of the local volume is not a folder`);
}

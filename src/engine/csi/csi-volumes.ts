import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ConfigObjectLookup } from '../../api/values/config-object.ts';
import type { ClaimName, StorageLookup } from '../../api/values/persistent-volume.ts';
import { errorMessage, RpcError, UserError } from '../../errors.ts';
import type { CallOptions } from '../../cri/service.ts';
import { settleAll } from '../../flow/settle-all.ts';
import { SerialQueue } from '../../flow/serial-queue.ts';
import type { Logger } from '../../logger.ts';
import { ifPresent } from '../../files/if-present.ts';
import { makeFolder } from '../../files/make-folder.ts';
import type { FsUsage } from '../host/fs-usage.ts';
import { isMountPoint } from '../host/mounts.ts';
import { listFolder } from '../../files/list-folder.ts';
import type { CSINode } from '../../plugins/types.ts';
import type { PodDirs } from '../host/pod-dirs.ts';
import { removeTree } from '../host/remove-tree.ts';
import type { CSIDrivers } from './csi-drivers.ts';
import {
  type CSIVolumeID,
  driverFolder,
  publishedFolder,
  readData,
  readStaged,
  readUse,
  setStaged,
  setUnstaged,
  stagedFolder,
  stagingPath,
  targetPath,
  usesFolder,
  writePublishedData,
  writeStagedData,
  writeUse,
} from './csi-files.ts';
import {
  type Capabilities,
  generatePublishRequest,
  generateStageRequest,
  type MountRequest,
  shouldChangeOwnership,
  unsupportedLifecycle,
} from './csi-requests.ts';
import { type CSIVolumeSpec, ephemeralHandle } from './csi-volume-spec.ts';

const counted = (...fields: [keyof FsUsage, bigint][]): [keyof FsUsage, number][] =>
  fields.flatMap(([name, value]) => (value < 0n ? [] : [[name, Number(value)]]));

interface Deps {
  rootDir: string;
  nodeName: string;
  podDirs: Pick<PodDirs, 'podDir' | 'podUIDs'>;
  drivers: Pick<CSIDrivers, 'call'>;
  storage: Pick<StorageLookup, 'csiDriver'>;
  configObjects: ConfigObjectLookup;
  /** Gives a published volume to the pod's fsGroup. */
  changeOwnership: (path: string, spec: CSIVolumeSpec) => Promise<void>;
  logger: Logger;
}

/**
 * Mounts and unmounts volumes of CSI drivers. kubelet: pkg/volume/csi
 *
 * INVARIANTS: the use of a volume is recorded on disk before the driver is called, and deleted after the driver undid
 * it. So the next agent undoes what a crash left. Each volume has one operation at a time. A call that may have had an
 * effect is undone like one that had. What the driver says it unmounted does not stay mounted.
 */
export class CSIVolumes {
  private readonly queues = new Map<string, SerialQueue>();

  constructor(private readonly deps: Deps) {}

  /**
   * Mounts the volume unless it is mounted. The signal cancels a call in progress, which may still have had an effect.
   * kubelet: csi_attacher.go MountDevice, csi_mounter.go SetUpAt
   */
  async setUp(spec: CSIVolumeSpec, signal?: AbortSignal): Promise<void> {
    const options = signal && { signal };
    const podDir = this.deps.podDirs.podDir(spec.pod.metadata.uid);
    await this.undoOther(podDir, spec);
    await this.withLock(spec, async () => {
      const driver = this.deps.storage.csiDriver(spec.driver);
      if (await this.isReady(podDir, spec)) {
        // A volume that cannot be refreshed stays as it is.
        if (driver?.requiresRepublish === true) await this.refresh(podDir, spec, options);
        return;
      }
      const unsupported = unsupportedLifecycle(spec, driver);
      if (unsupported !== undefined) throw new UserError(unsupported);
      await this.mount(podDir, spec, options);
    });
  }

  /**
   * Undoes an attempt to mount another volume at the same path, for example before the declaration was corrected. The
   * driver may have mounted it, and would mistake it for this one.
   */
  private async undoOther(podDir: string, { specName, driver, volumeHandle }: CSIVolumeSpec): Promise<void> {
    const use = await readUse(podDir, specName, this.deps.logger);
    const isSame = use?.driver === driver && use.volumeHandle === volumeHandle;
    if (use === undefined || isSame || (await this.isReady(podDir, { specName }))) return;
    await this.tearDown(podDir, specName);
  }

  /** True if the volume is mounted, even without its claim or driver. */
  async isReady(podDir: string, { specName }: Pick<CSIVolumeSpec, 'specName'>): Promise<boolean> {
    const use = await readUse(podDir, specName, this.deps.logger);
    if (use?.isReady !== true) return false;
    // After a reboot the record remains without the mount.
    return !use.isMountPoint || (await isMountPoint(targetPath(podDir, specName)));
  }

  /**
   * Returns usage as the driver reports it. Resolves with undefined if the volume is not mounted, or the driver reports
   * none. kubelet: pkg/volume/csi/csi_metrics.go GetMetrics
   */
  async usage(podUID: string, specName: string, options: CallOptions): Promise<FsUsage | undefined> {
    const podDir = this.deps.podDirs.podDir(podUID);
    const use = await readUse(podDir, specName, this.deps.logger);
    if (use?.isReady !== true) return undefined;
    const request = { volumeId: use.volumeHandle, volumePath: targetPath(podDir, specName) };
    return this.deps.drivers.call(use.driver, async (node) => {
      const { capabilities } = await node.nodeGetCapabilities({}, options);
      const reportsUsage = capabilities.some(({ rpc }) => rpc?.type === 'GET_VOLUME_STATS');
      return reportsUsage ? csiUsage(await node.nodeGetVolumeStats(request, options)) : undefined;
    });
  }

  /**
   * Unmounts all volumes of a pod, and unstages those that no other pod uses. Rejects if a driver failed to undo one;
   * then call this again. kubelet: csi_mounter.go TearDownAt, csi_attacher.go UnmountDevice
   */
  async tearDownPod(uid: string): Promise<void> {
    const podDir = this.deps.podDirs.podDir(uid);
    await settleAll((await specNamesOf(podDir)).map((name) => this.tearDown(podDir, name)));
  }

  /** Like `tearDownPod`, but leaves the volumes that live as long as the pod. */
  async tearDownPersistent(uid: string): Promise<void> {
    const podDir = this.deps.podDirs.podDir(uid);
    const tearDown = async (name: string): Promise<void> => {
      const volume = await volumeOf(podDir, name, this.deps.logger);
      if (volume?.volumeHandle !== ephemeralHandle(uid, name)) await this.tearDown(podDir, name);
    };
    await settleAll((await specNamesOf(podDir)).map(tearDown));
  }

  /** Unstages a driver's volumes that no pod uses, such as those that a crash left. */
  async removeUnused(driver: string): Promise<void> {
    const folder = driverFolder(this.deps.rootDir, driver);
    for (const name of await listFolder(folder)) {
      try {
        const volume = await readData(join(folder, name), this.deps.logger);
        if (volume?.driver === driver) await this.withLock(volume, () => this.unstageUnlessUsed(volume));
      } catch (error) {
        this.deps.logger.warn({ driver, err: errorMessage(error) }, 'An unused volume could not be unstaged');
      }
    }
  }

  private async mount(podDir: string, spec: CSIVolumeSpec, options?: CallOptions): Promise<void> {
    const { specName, driver, volumeHandle } = spec;
    const target = targetPath(podDir, specName);
    const capabilities = await this.capabilitiesOf(driver, options);
    await writeUse(podDir, specName, { driver, volumeHandle, isReady: false, isMountPoint: false });
    const staged = await this.stage(spec, capabilities, options);
    const secrets = this.secretsOf(spec.publishSecret, 'NodePublishSecretRef');
    await writePublishedData(join(target, '..'), spec, this.deps.nodeName);
    try {
      await this.publish(target, { spec, capabilities, stagingPath: staged, secrets }, options);
    } catch (error) {
      if (isFinal(error)) await removeTree(join(target, '..'));
      // Perhaps it failed because the volume is not staged.
      if (staged !== undefined) await setUnstaged(join(staged, '..'));
      throw error;
    }
    // Does not read inside a mount, because a hung driver would not answer.
    const isMounted = await isMountPoint(target);
    // A link could lead anywhere on this machine: for the change of ownership below, and for the container.
    if (!isMounted && !(await isOwnFolder(target))) {
      throw new UserError(`driver ${driver} published no folder and no mount at ${target}`);
    }
    if (shouldChangeOwnership(spec, capabilities, this.deps.storage.csiDriver(driver))) {
      await this.deps.changeOwnership(target, spec);
    }
    await writeUse(podDir, specName, { driver, volumeHandle, isReady: true, isMountPoint: isMounted });
  }

  private async refresh(podDir: string, spec: CSIVolumeSpec, options?: CallOptions): Promise<void> {
    const capabilities = await this.capabilitiesOf(spec.driver, options);
    const secrets = this.secretsOf(spec.publishSecret, 'NodePublishSecretRef');
    const staged = stages(spec, capabilities) ? stagingPath(stagedFolder(this.deps.rootDir, spec)) : undefined;
    const target = targetPath(podDir, spec.specName);
    await this.publish(target, { spec, capabilities, stagingPath: staged, secrets }, options);
  }

  private async capabilitiesOf(driver: string, options?: CallOptions): Promise<Capabilities> {
    const { capabilities } = await this.deps.drivers.call(driver, (node) => node.nodeGetCapabilities({}, options));
    return new Set(capabilities.map(({ rpc }) => String(rpc?.type)));
  }

  /** Resolves with the path of the staged volume. Resolves with undefined if the driver stages none. */
  private async stage(
    spec: CSIVolumeSpec,
    capabilities: Capabilities,
    options?: CallOptions,
  ): Promise<string | undefined> {
    if (!stages(spec, capabilities)) return undefined;
    const secrets = this.secretsOf(spec.stageSecret, 'NodeStageSecretRef');
    const folder = stagedFolder(this.deps.rootDir, spec);
    const path = stagingPath(folder);
    if (await isStaged(folder, this.deps.logger)) return path;
    await writeStagedData(folder, spec);
    await makeFolder(path, 0o750);
    const request = generateStageRequest({ spec, capabilities, stagingPath: path, secrets });
    await this.deps.drivers.call(spec.driver, (node) => node.nodeStageVolume(request, options));
    await setStaged(folder, await isMountPoint(path));
    return path;
  }

  private async publish(target: string, request: MountRequest, options?: CallOptions): Promise<void> {
    const { drivers, storage } = this.deps;
    const { driver } = request.spec;
    const published = generatePublishRequest(request, target, storage.csiDriver(driver));
    await drivers.call(driver, (node) => node.nodePublishVolume(published, options));
  }

  /** kubelet: csi_util.go getCredentialsFromSecret */
  private secretsOf(secret: ClaimName | undefined, field: string): Record<string, string> {
    if (secret === undefined) return {};
    const { namespace, name } = secret;
    const found = this.deps.configObjects.get('Secret', namespace, name);
    if (found === undefined) {
      throw new UserError(`fetching ${field} ${namespace}/${name} failed: secrets "${name}" not found`, {
        hint: 'Declare the Secret next to the pod.',
      });
    }
    return Object.fromEntries([...found.data].map(([key, value]) => [key, Buffer.from(value).toString()]));
  }

  private async tearDown(podDir: string, specName: string): Promise<void> {
    const folder = join(publishedFolder(podDir), specName);
    const volume = await volumeOf(podDir, specName, this.deps.logger);
    if (volume === undefined) {
      // Without vol_data.json we do not know which driver to call.
      await removeTree(folder);
      await removeTree(join(usesFolder(podDir), specName));
      return;
    }
    await this.withLock(volume, async () => {
      // A publication that was in progress may be done by now.
      const newest = await readData(folder, this.deps.logger);
      if (newest !== undefined) await this.unpublish(newest, folder);
      await removeTree(join(usesFolder(podDir), specName));
      await this.unstageUnlessUsed(volume);
    });
  }

  private async unpublish({ driver, volumeHandle }: CSIVolumeID, folder: string): Promise<void> {
    const request = { volumeId: volumeHandle, targetPath: join(folder, 'mount') };
    await this.undo({ driver, volumeHandle }, (node) => node.nodeUnpublishVolume(request));
    // Also unmounts what a driver left mounted.
    await removeTree(folder);
  }

  private async unstageUnlessUsed(volume: CSIVolumeID): Promise<void> {
    const folder = stagedFolder(this.deps.rootDir, volume);
    if ((await readData(folder, this.deps.logger)) === undefined || (await this.isUsed(volume))) return;
    await setUnstaged(folder);
    const request = { volumeId: volume.volumeHandle, stagingTargetPath: stagingPath(folder) };
    await this.undo(volume, (node) => node.nodeUnstageVolume(request));
    // Also unmounts what a driver left mounted.
    await removeTree(folder);
  }

  private async undo({ driver, volumeHandle }: CSIVolumeID, work: (node: CSINode) => Promise<unknown>): Promise<void> {
    try {
      await this.deps.drivers.call(driver, work);
    } catch (error) {
      throw new UserError(`driver ${driver} did not unmount volume ${volumeHandle}: ${errorMessage(error)}`, {
        hint: 'The agent tries again. The log of the driver has more.',
        cause: error,
      });
    }
  }

  private async isUsed({ driver, volumeHandle }: CSIVolumeID): Promise<boolean> {
    const { podDirs } = this.deps;
    for (const uid of await podDirs.podUIDs()) {
      const podDir = podDirs.podDir(uid);
      const uses = (await listFolder(usesFolder(podDir))).map((name) => readUse(podDir, name, this.deps.logger));
      const published = (await listFolder(publishedFolder(podDir))).map((name) =>
        readData(join(publishedFolder(podDir), name), this.deps.logger),
      );
      const volumes = await Promise.all([...uses, ...published]);
      if (volumes.some((one) => one?.driver === driver && one.volumeHandle === volumeHandle)) return true;
    }
    return false;
  }

  private async withLock<T>({ driver, volumeHandle }: CSIVolumeID, work: () => Promise<T>): Promise<T> {
    const key = `${driver}/${volumeHandle}`;
    const queues = this.queues.get(key) ?? new SerialQueue();
    this.queues.set(key, queues);
    try {
      return await queues.run(work);
    } finally {
      if (queues.isIdle) this.queues.delete(key);
    }
  }
}

/** True for a folder, false for a link to one. */
async function isOwnFolder(path: string): Promise<boolean> {
  return (await ifPresent(lstat(path)))?.isDirectory() ?? false;
}

/** Returns the names of a pod's published or recorded volumes. */
async function specNamesOf(podDir: string): Promise<string[]> {
  return [...new Set([...(await listFolder(publishedFolder(podDir))), ...(await listFolder(usesFolder(podDir)))])];
}

/**
 * Returns the volume of this name as published, or else as recorded. Resolves with undefined if neither is readable.
 */
async function volumeOf(podDir: string, specName: string, logger: Logger): Promise<CSIVolumeID | undefined> {
  const published = await readData(join(publishedFolder(podDir), specName), logger);
  return published ?? (await readUse(podDir, specName, logger));
}

function stages({ lifecycle }: CSIVolumeSpec, capabilities: Capabilities): boolean {
  return lifecycle === 'Persistent' && capabilities.has('STAGE_UNSTAGE_VOLUME');
}

/** gRPC codes of calls that may have had an effect. kubelet: pkg/volume/csi/csi_client.go isFinalError */
const uncertainCodes: ReadonlySet<number> = new Set([1, 4, 8, 10, 14]);

/** True if the driver says that it did nothing. */
function isFinal(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  return cause instanceof RpcError && !uncertainCodes.has(cause.code);
}

/** True if the volume is still staged. After a reboot the record remains, but not the mount. */
async function isStaged(folder: string, logger: Logger): Promise<boolean> {
  const staged = await readStaged(folder, logger);
  return staged !== undefined && (!staged.isMountPoint || (await isMountPoint(stagingPath(folder))));
}

type Answer = Awaited<ReturnType<CSINode['nodeGetVolumeStats']>>;

/**
 * Returns the usage of a volume. Impossible values are absent. Returns undefined if the driver reported nothing.
 * kubelet: pkg/volume/csi/csi_client.go NodeGetVolumeStats
 */
function csiUsage({ usage }: Answer): FsUsage | undefined {
  const fields = usage.flatMap(({ unit, available, total, used }): [keyof FsUsage, number][] => {
    if (unit === 'BYTES') return counted(['availableBytes', available], ['capacityBytes', total], ['usedBytes', used]);
    if (unit === 'INODES') return counted(['inodesFree', available], ['inodes', total], ['inodesUsed', used]);
    return [];
  });
  return fields.length === 0 ? undefined : Object.fromEntries(fields);
}

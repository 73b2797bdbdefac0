import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../errors.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { writeFileAtomic } from '../../files/write-file-atomic.ts';
import { isFileName } from '../host/pod-dirs.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import type { CSIVolumeSpec } from './csi-volume-spec.ts';

/** Identifies a volume of a driver. */
export interface CSIVolumeID {
  driver: string;
  volumeHandle: string;
}

/** A pod's use of a volume. Recorded before the driver is called, and again once the volume is ready. */
export interface CSIUse extends CSIVolumeID {
  isReady: boolean;
  /** True if something was mounted. Some drivers only write files. */
  isMountPoint: boolean;
}

const maxBytes = 64 * 1024;
const dataFile = 'vol_data.json';

/** `<pod>/volumes/kubernetes.io~csi`. Each volume has a folder with vol_data.json, and with `mount` for the driver. */
export const publishedFolder = (podDir: string): string => join(podDir, 'volumes', 'kubernetes.io~csi');
/** `<pod>/plugins/kubernetes.io~csi`, which records the volumes that the pod uses. */
export const usesFolder = (podDir: string): string => join(podDir, 'plugins', 'kubernetes.io~csi');
/** kubelet: pkg/volume/csi/csi_util.go getTargetPath */
export const targetPath = (podDir: string, specName: string): string =>
  join(publishedFolder(podDir), specName, 'mount');

export const stagedVolumesFolder = (rootDir: string): string => join(rootDir, 'plugins', 'kubernetes.io', 'csi');

/** `<root-dir>/plugins/kubernetes.io/csi/<driver>`, with the staged volumes. */
export const driverFolder = (rootDir: string, driver: string): string => join(stagedVolumesFolder(rootDir), driver);

/** kubelet: pkg/volume/csi/csi_attacher.go makeDeviceMountPath, without `globalmount` */
export function stagedFolder(rootDir: string, { driver, volumeHandle }: CSIVolumeID): string {
  return join(driverFolder(rootDir, driver), createHash('sha256').update(volumeHandle).digest('hex'));
}

export const stagingPath = (folder: string): string => join(folder, 'globalmount');

/** kubelet: csi_mounter.go SetUpAt, csi_util.go getAttachmentName */
export async function writePublishedData(folder: string, spec: CSIVolumeSpec, nodeName: string): Promise<void> {
  const { driver, volumeHandle, specName, lifecycle } = spec;
  const attachment = createHash('sha256').update(`${volumeHandle}${driver}${nodeName}`).digest('hex');
  await writeData(folder, {
    attachmentID: `csi-${attachment}`,
    driverName: driver,
    nodeName,
    specVolID: specName,
    volumeHandle,
    volumeLifecycleMode: lifecycle,
  });
}

/** kubelet: csi_attacher.go MountDevice */
export async function writeStagedData(folder: string, { driver, volumeHandle }: CSIVolumeID): Promise<void> {
  await writeData(folder, { driverName: driver, volumeHandle });
}

async function writeData(folder: string, data: Record<string, string>): Promise<void> {
  await makeFolder(folder, 0o750);
  await writeFileAtomic(join(folder, dataFile), `${JSON.stringify(data)}\n`, 0o644);
}

/** Reads which volume a vol_data.json describes. Resolves with undefined if the file is missing or damaged. */
export async function readData(folder: string): Promise<CSIVolumeID | undefined> {
  const { driverName, volumeHandle } = await readObject(join(folder, dataFile));
  return asVolumeID(driverName, volumeHandle);
}

export const writeUse = (podDir: string, specName: string, use: CSIUse): Promise<void> =>
  writeFileAtomic(useFile(podDir, specName), `${JSON.stringify(use)}\n`);

/**
 * Records that the driver staged the volume. `isMountPoint` is true if something was mounted, because some drivers only
 * write files.
 */
export const setStaged = (folder: string, isMountPoint: boolean): Promise<void> =>
  writeFileAtomic(stagedFile(folder), `${JSON.stringify({ isMountPoint })}\n`);

/** Deletes the record that the volume is staged. Call this before unstaging it. */
export const setUnstaged = (folder: string): Promise<void> => rm(stagedFile(folder), { force: true });

/** Reads the record of `setStaged`. Resolves with undefined unless the driver staged the volume. */
export async function readStaged(folder: string): Promise<{ isMountPoint: boolean } | undefined> {
  const { isMountPoint } = await readObject(stagedFile(folder));
  return typeof isMountPoint === 'boolean' ? { isMountPoint } : undefined;
}

const stagedFile = (folder: string): string => join(folder, 'staged.json');

/** Reads the record of a use. Resolves with undefined if it is missing or damaged. */
export async function readUse(podDir: string, specName: string): Promise<CSIUse | undefined> {
  const { driver, volumeHandle, isReady, isMountPoint } = await readObject(useFile(podDir, specName));
  const id = asVolumeID(driver, volumeHandle);
  return id && { ...id, isReady: isReady === true, isMountPoint: isMountPoint === true };
}

const useFile = (podDir: string, specName: string): string => join(usesFolder(podDir), specName, 'use.json');

function asVolumeID(driver: unknown, volumeHandle: unknown): CSIVolumeID | undefined {
  if (typeof driver !== 'string' || typeof volumeHandle !== 'string' || !isFileName(driver)) return undefined;
  return { driver, volumeHandle };
}

async function readObject(path: string): Promise<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse((await readRegularFile(path, maxBytes)).toString());
    return Object(value) as Record<string, unknown>;
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR') || error instanceof SyntaxError) return {};
    throw error;
  }
}

import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../files/make-folder.ts';
import { writeFileAtomic } from '../../files/write-file-atomic.ts';
import type { Logger } from '../../logger.ts';
import { isFileName } from '../host/pod-dirs.ts';
import { readRecordFile } from '../host/record-file.ts';
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

type Warnings = Pick<Logger, 'warn'>;

/**
 * Reads which volume a vol_data.json describes. Resolves with undefined if the file is missing, or damaged, which is
 * logged.
 */
export function readData(folder: string, logger: Warnings): Promise<CSIVolumeID | undefined> {
  const parse = (bytes: Buffer): CSIVolumeID | undefined => {
    const { driverName, volumeHandle } = objectIn(bytes);
    return asVolumeID(driverName, volumeHandle);
  };
  return readRecordFile(join(folder, dataFile), maxBytes, parse, logger);
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

/**
 * Reads the record of `setStaged`. Resolves with undefined unless the driver staged the volume, or if the record is
 * damaged, which is logged.
 */
export function readStaged(folder: string, logger: Warnings): Promise<{ isMountPoint: boolean } | undefined> {
  const parse = (bytes: Buffer): { isMountPoint: boolean } | undefined => {
    const { isMountPoint } = objectIn(bytes);
    return typeof isMountPoint === 'boolean' ? { isMountPoint } : undefined;
  };
  return readRecordFile(stagedFile(folder), maxBytes, parse, logger);
}

const stagedFile = (folder: string): string => join(folder, 'staged.json');

/** Reads the record of a use. Resolves with undefined if it is missing, or damaged, which is logged. */
export function readUse(podDir: string, specName: string, logger: Warnings): Promise<CSIUse | undefined> {
  const parse = (bytes: Buffer): CSIUse | undefined => {
    const { driver, volumeHandle, isReady, isMountPoint } = objectIn(bytes);
    const id = asVolumeID(driver, volumeHandle);
    return id && { ...id, isReady: isReady === true, isMountPoint: isMountPoint === true };
  };
  return readRecordFile(useFile(podDir, specName), maxBytes, parse, logger);
}

const useFile = (podDir: string, specName: string): string => join(usesFolder(podDir), specName, 'use.json');

function asVolumeID(driver: unknown, volumeHandle: unknown): CSIVolumeID | undefined {
  if (typeof driver !== 'string' || typeof volumeHandle !== 'string' || !isFileName(driver)) return undefined;
  return { driver, volumeHandle };
}

function objectIn(bytes: Buffer): Record<string, unknown> {
  return Object(JSON.parse(bytes.toString('utf8'))) as Record<string, unknown>;
}

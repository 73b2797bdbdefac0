import { join } from 'node:path';
import type { Container } from '../../api/types.ts';
import { errorMessage, UserError } from '../../errors.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import { openInsideVolume } from '../volumes/inside-volume.ts';
import type { MountedVolume } from '../volumes/volume-mounter.ts';
import { type EnvFiles, envFileKey } from './request/environment.ts';

/** Far more than the variables of a container need. */
const maxFileBytes = 1024 * 1024;

/**
 * Reads the files that `fileKeyRef`s of a container name, inside their volumes. Rejects with a `UserError` for a file
 * that is missing, that is too long, or that lies outside its volume. kubelet: kubelet_pods.go getEnvFileValue
 */
export async function readEnvFiles(
  { env = [] }: Container,
  volumes: ReadonlyMap<string, MountedVolume>,
): Promise<EnvFiles> {
  const files = new Map<string, string>();
  for (const { name, valueFrom: { fileKeyRef } = {} } of env) {
    if (fileKeyRef === undefined || files.has(envFileKey(fileKeyRef))) continue;
    const volume = volumes.get(fileKeyRef.volumeName);
    if (volume === undefined) throw new UserError(`env "${name}": volume "${fileKeyRef.volumeName}" is not mounted`);
    files.set(envFileKey(fileKeyRef), await readInside(volume.hostPath, fileKeyRef.path, name));
  }
  return files;
}

async function readInside(volumePath: string, path: string, variable: string): Promise<string> {
  try {
    const file = await openInsideVolume(volumePath, path);
    try {
      const bytes = await readRegularFile(file.path, maxFileBytes, { followLinks: true });
      return bytes.toString('utf8');
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new UserError(`env "${variable}": cannot read ${join('/', path)} of its volume: ${errorMessage(error)}`, {
      cause: error,
      hint: 'An init container must write the file, also for an optional key.',
    });
  }
}

import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ifPresent } from '../../files/if-present.ts';

interface CheckpointedContainer {
  podName: string;
  namespace: string;
  container: string;
}

/**
 * Calls `write` to write a container's archive into a new file in `<root-dir>/checkpoints` that only root can read.
 * Resolves with its path. kubelet: kubelet.go CheckpointContainer
 */
export async function writeCheckpoint(
  { rootDir, podName, namespace, container, now }: CheckpointedContainer & { rootDir: string; now: number },
  write: (path: string) => Promise<unknown>,
): Promise<string> {
  const folder = join(rootDir, 'checkpoints');
  const time = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');
  const path = join(folder, `checkpoint-${podName}_${namespace}-${container}-${time}.tar`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await write(path);
  // It is missing if the runtime has a different root folder than this program.
  await ifPresent(chmod(path, 0o600));
  return path;
}

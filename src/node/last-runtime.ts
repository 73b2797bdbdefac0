import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode, UserError } from '../errors.ts';
import { readRegularFile } from '../files/regular-file.ts';
import { writeFileAtomic } from '../files/write-file-atomic.ts';

/** More than the longest path of a socket. */
const maxBytes = 4096;
const fileOf = (rootDir: string): string => join(rootDir, 'state', 'runtime-endpoint');

/**
 * Records the runtime of this root-dir's agent for commands that run after it stops. A managed containerd is not
 * Records the runtime of this root-dir's agent for commands that run after it stops. Does not record a managed
 * containerd, because its path changes if the root-dir is moved. Rejects with a file system error.
 */
export async function recordRuntime(rootDir: string, runtime: { endpoint: string; managed: boolean }): Promise<void> {
  if (runtime.managed) await rm(fileOf(rootDir), { force: true });
  else await writeFileAtomic(fileOf(rootDir), `${runtime.endpoint}\n`);
}

/**
 * The runtime of the last agent. Returns undefined if it was the managed one, if the file is not a record, or if the
 * user may not read it. Rejects with any other file system error, because pods may run in that runtime.
 */
export async function lastRuntime(rootDir: string): Promise<string | undefined> {
  try {
    const endpoint = (await readRegularFile(fileOf(rootDir), maxBytes)).toString().trim();
    return endpoint.startsWith('unix:///') ? endpoint : undefined;
  } catch (error) {
    if (error instanceof UserError || hasCode(error, 'ENOENT', 'ENOTDIR', 'EACCES')) return undefined;
    throw error;
  }
}

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readRecordFile } from '../engine/host/record-file.ts';
import { hasCode, UserError } from '../errors.ts';
import { writeFileAtomic } from '../files/write-file-atomic.ts';
import type { Logger } from '../logger.ts';

/** More than the longest path of a socket. */
const maxBytes = 4096;
const fileOf = (rootDir: string): string => join(rootDir, 'state', 'runtime-endpoint');

/**
 * Records the runtime of this root-dir's agent for commands that run after it stops. Does not record a managed
 * containerd, because its path changes if the root-dir is moved. Rejects with a file system error.
 */
export async function recordRuntime(
  rootDir: string,
  runtime: { endpoint: string; managed: boolean },
  logger: Logger,
): Promise<void> {
  // Logs a damaged record before it is replaced.
  await lastRuntime(rootDir, logger);
  if (runtime.managed) await rm(fileOf(rootDir), { force: true });
  else await writeFileAtomic(fileOf(rootDir), `${runtime.endpoint}\n`);
}

/**
 * The runtime of the last agent. Returns undefined if it was the managed one, if the file is not a record, or if the
 * user may not read it. With `logger`, a damaged record is logged and renamed. Rejects with any other file system
 * error, because pods may run in that runtime.
 */
export async function lastRuntime(rootDir: string, logger?: Logger): Promise<string | undefined> {
  try {
    return await readRecordFile(fileOf(rootDir), maxBytes, parseEndpoint, logger);
  } catch (error) {
    if (error instanceof UserError || hasCode(error, 'EACCES')) return undefined;
    throw error;
  }
}

/** Without its newline, the endpoint may be cut off. */
const parseEndpoint = (bytes: Buffer): string | undefined => /^(unix:\/\/\/.+)\n$/.exec(bytes.toString())?.[1];

import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import { hasCode } from '../../errors.ts';
import { ifPresent } from '../../files/if-present.ts';
import type { PullProgress } from './stalled-pull.ts';

/** The kernel rounds file times down to its last clock tick. */
export const fileTimeLagMs = 10;

/**
 * Resolves with the folder of containerd's content store. Resolves with undefined if the runtime is a different one or
 * does not answer.
 */
export type ContentStore = () => Promise<string | undefined>;

/** Calls the runtime until it has answered once. */
export function contentStore(runtime: RuntimeService): ContentStore {
  let known: string | undefined;
  return async () => {
    known ??= await runtimeSetting(runtime, 'containerdRootDir');
    return known === undefined ? undefined : join(known, 'io.containerd.content.v1.content');
  };
}

/**
 * Reads the progress of containerd's pulls from its content store, because the CRI does not report any. Resolves with
 * undefined for other runtimes, and if the store is unreadable.
 */
export function contentStoreProgress(folder: ContentStore): PullProgress {
  return async (since) => {
    const store = await folder();
    if (store === undefined) return undefined;
    const ingests = join(store, 'ingest');
    const ingested = await bytesIn(ingests, 'data');
    const blobs = await bytesIn(join(store, 'blobs', 'sha256'));
    if (ingested === undefined || blobs === undefined) return undefined;
    return { receivedBytes: ingested + blobs, isFetching: await isFetching(ingests, since) };
  };
}

/** True if an ingest still lacks data that a pull since this time requested. */
async function isFetching(ingests: string, since: number): Promise<boolean> {
  const names = await readdir(ingests);
  const lacking = await Promise.all(names.map((name) => lacksData(join(ingests, name), since)));
  return lacking.includes(true);
}

/**
 * True if an ingest of the CRI is incomplete. An ingest that received no data since this time may be left from an
 * earlier pull, because containerd keeps it for a day. If its size is unknown, it is complete when it becomes a blob.
 */
async function lacksData(ingest: string, since: number): Promise<boolean> {
  try {
    const { size, mtimeMs } = await stat(join(ingest, 'data'));
    if (mtimeMs < since - fileTimeLagMs) return false;
    const ref = await readFile(join(ingest, 'ref'), 'utf8');
    return ref.startsWith('k8s.io/') && size < (await totalOf(ingest));
  } catch (error) {
    // It became a blob in the meantime.
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}

/** Returns the size of an ingest's complete data. Infinity if the registry did not report it. */
async function totalOf(ingest: string): Promise<number> {
  return Number(await ifPresent(readFile(join(ingest, 'total'), 'utf8'))) || Infinity;
}

/**
 * Returns the total size of the entries of a folder, or of one file in each. Resolves with undefined if the folder is
 * missing.
 */
async function bytesIn(folder: string, file = ''): Promise<number | undefined> {
  try {
    const names = await readdir(folder);
    const sizes = await Promise.all(names.map((name) => sizeOf(join(folder, name, file))));
    return sizes.reduce((sum, size) => sum + size, 0);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'EACCES')) return undefined;
    throw error;
  }
}

/** Resolves with 0 if the file is missing, because an ingest may become a blob in the meantime. */
async function sizeOf(path: string): Promise<number> {
  return (await ifPresent(stat(path)))?.size ?? 0;
}

/**
 * Reads a setting of containerd's CRI plugin from its verbose status. Resolves with undefined if the runtime does not
 * report it.
 */
export async function runtimeSetting(runtime: RuntimeService, name: string): Promise<string | undefined> {
  try {
    const { info } = await runtime.status({ verbose: true });
    const config: unknown = JSON.parse(info['config'] ?? '{}');
    if (typeof config !== 'object' || config === null) return undefined;
    const value = new Map<string, unknown>(Object.entries(config)).get(name);
    return typeof value === 'string' ? value : undefined;
  } catch {
    // The runtime does not answer, or reports its configuration in a different form.
    return undefined;
  }
}

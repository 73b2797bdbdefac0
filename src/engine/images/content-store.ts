import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import { hasCode } from '../../errors.ts';
import type { PullProgress } from './stalled-pull.ts';

/** The folder of containerd's content store; undefined: the runtime is none, or does not answer. */
export type ContentStore = () => Promise<string | undefined>;

/** The runtime is asked until it has answered once. */
export function contentStore(runtime: RuntimeService): ContentStore {
  let known: string | undefined;
  return async () => {
    known ??= await runtimeSetting(runtime, 'containerdRootDir');
    return known === undefined ? undefined : join(known, 'io.containerd.content.v1.content');
  };
}

/**
 * How far the pulls of a containerd have come, by what is in its content store: the CRI does not say. Other runtimes, and
 * a store that cannot be read, tell nothing.
 */
export function contentStoreProgress(folder: ContentStore): PullProgress {
  return async () => {
    const store = await folder();
    if (store === undefined) return undefined;
    const ingests = await bytesIn(join(store, 'ingest'), 'data');
    const blobs = await bytesIn(join(store, 'blobs', 'sha256'));
    return ingests === undefined || blobs === undefined ? undefined : ingests + blobs;
  };
}

/** Sizes of all entries of a folder, or of one file in each; undefined when there is no such folder. */
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

/** An ingest may become a blob while we look. */
async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 0;
    throw error;
  }
}

/** A setting of containerd's CRI plugin, as its verbose status shows it; undefined: the runtime tells nothing of it. */
export async function runtimeSetting(runtime: RuntimeService, name: string): Promise<string | undefined> {
  try {
    const { info } = await runtime.status({ verbose: true });
    const config: unknown = JSON.parse(info['config'] ?? '{}');
    if (typeof config !== 'object' || config === null) return undefined;
    const value = new Map<string, unknown>(Object.entries(config)).get(name);
    return typeof value === 'string' ? value : undefined;
  } catch {
    // It does not answer, or in a form of its own.
    return undefined;
  }
}

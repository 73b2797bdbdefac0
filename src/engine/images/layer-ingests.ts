import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContentStore } from './content-store.ts';

/** A layer that containerd is fetching, or has stopped fetching. */
export interface LayerIngest {
  /** containerd's name, with namespace and digest. */
  ref: string;
  receivedBytes: number;
  /** Absent if the registry did not report it. */
  totalBytes?: number;
  /** Time of the last received data, in milliseconds since the epoch. */
  changedAt: number;
}

/** Returns the layers that are being fetched. Resolves with undefined if they cannot be read. Never rejects. */
export type ReadLayerIngests = () => Promise<LayerIngest[] | undefined>;

/** Reads containerd's content store, which has a folder with `ref`, `data` and `total` for each ingest. */
export function layerIngests(folder: ContentStore): ReadLayerIngests {
  return async () => {
    const store = await folder();
    if (store === undefined) return undefined;
    const ingests = join(store, 'ingest');
    // Progress is only displayed, so an unreadable store is not an error.
    const names = await readdir(ingests).catch(() => undefined);
    if (names === undefined) return undefined;
    const found = await Promise.all(names.map((name) => readIngest(join(ingests, name)).catch(() => undefined)));
    return found.filter((ingest) => ingest !== undefined);
  };
}

/** Resolves with undefined unless it is a layer that the CRI pulls. Rejects if it became a blob in the meantime. */
async function readIngest(folder: string): Promise<LayerIngest | undefined> {
  const ref = (await readFile(join(folder, 'ref'), 'utf8')).trim();
  if (!/^k8s\.io\/\d+\/layer-/.test(ref)) return undefined;
  const { size, mtimeMs } = await stat(join(folder, 'data'));
  const total = Number(await readFile(join(folder, 'total'), 'utf8').catch(() => ''));
  return { ref, receivedBytes: size, ...(total > 0 && { totalBytes: total }), changedAt: mtimeMs };
}

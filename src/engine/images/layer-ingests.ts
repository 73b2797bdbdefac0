import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContentStore } from './content-store.ts';

/** A layer that containerd is fetching, or was before it gave up. */
export interface LayerIngest {
  /** As containerd names it, with namespace and digest. */
  ref: string;
  receivedBytes: number;
  /** Absent: the registry did not say. */
  totalBytes?: number;
  /** When something came last, in milliseconds since the epoch. */
  changedAt: number;
}

/** The layers of images that are under way; undefined when that cannot be told. Never rejects. */
export type ReadLayerIngests = () => Promise<LayerIngest[] | undefined>;

/** From the files of containerd's content store: `ref`, `data` and `total` in a folder for each ingest. */
export function layerIngests(folder: ContentStore): ReadLayerIngests {
  return async () => {
    const store = await folder();
    if (store === undefined) return undefined;
    const ingests = join(store, 'ingest');
    // Progress is only for show: a store that cannot be read has none.
    const names = await readdir(ingests).catch(() => undefined);
    if (names === undefined) return undefined;
    const found = await Promise.all(names.map((name) => readIngest(join(ingests, name)).catch(() => undefined)));
    return found.filter((ingest) => ingest !== undefined);
  };
}

/** Undefined: it is none of a layer that the CRI pulls. Rejects when it became a blob meanwhile. */
async function readIngest(folder: string): Promise<LayerIngest | undefined> {
  const ref = (await readFile(join(folder, 'ref'), 'utf8')).trim();
  if (!/^k8s\.io\/\d+\/layer-/.test(ref)) return undefined;
  const { size, mtimeMs } = await stat(join(folder, 'data'));
  const total = Number(await readFile(join(folder, 'total'), 'utf8').catch(() => ''));
  return { ref, receivedBytes: size, ...(total > 0 && { totalBytes: total }), changedAt: mtimeMs };
}

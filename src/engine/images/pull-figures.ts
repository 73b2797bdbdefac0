import type { PullFigures } from '../view/snapshot.ts';
import type { LayerIngest } from './layer-ingests.ts';

/** The layers of one pull by their ref. */
export type PulledLayers = ReadonlyMap<string, LayerIngest>;

/** Times of files are those of the last tick of the kernel's clock. */
const fileTimeLagMs = 10;

/**
 * The layers of a pull that began at `startedAt`, in milliseconds since the epoch, when `ingests` are under way. One that is
 * no longer has come whole. What an earlier pull left half done counts from when it goes on.
 */
export function nextLayers(layers: PulledLayers, ingests: readonly LayerIngest[], startedAt: number): PulledLayers {
  const next = new Map<string, LayerIngest>();
  for (const [ref, layer] of layers)
    next.set(ref, { ...layer, receivedBytes: layer.totalBytes ?? layer.receivedBytes });
  for (const ingest of ingests) if (ingest.changedAt >= startedAt - fileTimeLagMs) next.set(ingest.ref, ingest);
  return next;
}

/** Undefined while no layer was begun. */
export function computePullFigures(layers: PulledLayers): PullFigures | undefined {
  if (layers.size === 0) return undefined;
  const all = [...layers.values()];
  const receivedBytes = all.reduce((sum, layer) => sum + layer.receivedBytes, 0);
  const totalBytes = all.reduce((sum, layer) => sum + (layer.totalBytes ?? NaN), 0);
  return Number.isNaN(totalBytes) ? { receivedBytes } : { receivedBytes, totalBytes };
}

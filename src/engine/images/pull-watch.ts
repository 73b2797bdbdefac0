import type { Pod } from '../../api/types.ts';
import { podRef } from '../../api/values/pod-names.ts';
import type { Clock } from '../../clock.ts';
import type { Emit } from '../view/event-bus.ts';
import type { PullProgress, PullSnapshot } from '../view/snapshot.ts';
import { fileTimeLagMs } from './content-store.ts';
import type { LayerIngest, ReadLayerIngests } from './layer-ingests.ts';

/** A container that waits for an image. */
interface Waiter {
  pod: Pod;
  container: string;
}

/** The pull of one image, shared by all waiters. */
interface ImagePull {
  waiters: Set<Waiter>;
  /** Milliseconds since the epoch. */
  startedAt: number;
  layers: PulledLayers;
  progress?: PullProgress;
}

/** Progress is polled, because the runtime sends no progress events. */
const pollPeriodMs = 1000;

/**
 * Reads the progress of the running pulls. The runtime does not report which image a layer belongs to, so there is no
 * progress while several images are pulled.
 */
export class PullWatch {
  /** By image. */
  private readonly pulls = new Map<string, ImagePull>();
  private ended = new AbortController();

  constructor(private readonly deps: { readIngests: ReadLayerIngests; clock: Clock; emit: Emit }) {}

  /** Watches a pull until it finishes. */
  async during<T>(image: string, waiter: Waiter, pull: () => Promise<T>): Promise<T> {
    this.add(image, waiter);
    try {
      return await pull();
    } finally {
      this.remove(image, waiter);
    }
  }

  /** Returns the progress of the pod's pulls. */
  of(podUID: string): PullSnapshot[] {
    return [...this.pulls].flatMap(([image, { waiters, progress }]) =>
      [...waiters].flatMap(({ pod, container }) =>
        progress === undefined || pod.metadata.uid !== podUID ? [] : [{ container, image, ...progress }],
      ),
    );
  }

  private add(image: string, waiter: Waiter): void {
    const wasIdle = this.pulls.size === 0;
    const pull = this.pulls.get(image) ?? { waiters: new Set(), startedAt: this.deps.clock.now(), layers: new Map() };
    pull.waiters.add(waiter);
    this.pulls.set(image, pull);
    if (!wasIdle) return;
    this.ended = new AbortController();
    void this.watch(this.ended.signal);
  }

  private remove(image: string, waiter: Waiter): void {
    const pull = this.pulls.get(image);
    pull?.waiters.delete(waiter);
    if (pull?.waiters.size === 0) this.pulls.delete(image);
    if (this.pulls.size === 0) this.ended.abort();
  }

  private async watch(ended: AbortSignal): Promise<void> {
    const { readIngests, clock } = this.deps;
    while (!ended.aborted) {
      const ingests = await readIngests();
      // Without a content store there is no progress.
      if (ingests === undefined) return;
      this.update(ingests);
      await clock.sleep(pollPeriodMs, { signal: ended }).catch(() => undefined);
    }
  }

  private update(ingests: readonly LayerIngest[]): void {
    const [[image, pull] = [], ...others] = this.pulls;
    if (image === undefined || pull === undefined) return;
    if (others.length > 0) {
      for (const several of this.pulls.values()) delete several.progress;
      return;
    }
    pull.layers = nextLayers(pull.layers, ingests, pull.startedAt);
    this.record(image, pull, computePullProgress(pull.layers));
  }

  private record(image: string, pull: ImagePull, progress: PullProgress | undefined): void {
    const { receivedBytes, totalBytes } = pull.progress ?? {};
    if (progress === undefined || (progress.receivedBytes === receivedBytes && progress.totalBytes === totalBytes))
      return;
    pull.progress = progress;
    for (const { pod, container } of pull.waiters)
      this.deps.emit({ type: 'PullProgressed', pod: podRef(pod), containerName: container, image, ...progress });
  }
}

/** The layers of one pull by ref. */
type PulledLayers = ReadonlyMap<string, LayerIngest>;

/**
 * Updates the layers of a pull that began at `startedAt`, in milliseconds since the epoch. A layer without an ingest is
 * complete. An ingest left from an earlier pull counts once it grows again.
 */
export function nextLayers(layers: PulledLayers, ingests: readonly LayerIngest[], startedAt: number): PulledLayers {
  const next = new Map<string, LayerIngest>();
  for (const [ref, layer] of layers)
    next.set(ref, { ...layer, receivedBytes: layer.totalBytes ?? layer.receivedBytes });
  for (const ingest of ingests) if (ingest.changedAt >= startedAt - fileTimeLagMs) next.set(ingest.ref, ingest);
  return next;
}

/** Returns undefined while no layer was begun. */
export function computePullProgress(layers: PulledLayers): PullProgress | undefined {
  if (layers.size === 0) return undefined;
  const all = [...layers.values()];
  const receivedBytes = all.reduce((sum, layer) => sum + layer.receivedBytes, 0);
  const totalBytes = all.reduce((sum, layer) => sum + (layer.totalBytes ?? NaN), 0);
  return Number.isNaN(totalBytes) ? { receivedBytes } : { receivedBytes, totalBytes };
}

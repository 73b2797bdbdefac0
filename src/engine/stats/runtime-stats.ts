import type { Clock } from '../../clock.ts';
import { isUnimplemented } from '../../cri/errors.ts';
import type { ImageService } from '../../cri/image-service.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { CallOptions } from '../../cri/service.ts';
import { errorMessage } from '../../errors.ts';
import { withTimeout } from '../../flow/with-timeout.ts';
import type { Logger } from '../../logger.ts';
import {
  containerUsage,
  diskUsage,
  podUsage,
  type RuntimeContainerUsage,
  type RuntimeDisk,
  type RuntimePodUsage,
} from './runtime-usage.ts';

interface Deps {
  runtime: Pick<RuntimeService, 'listContainerStats' | 'listPodSandboxStats'>;
  imageService: Pick<ImageService, 'imageFsInfo'>;
  clock: Clock;
  logger: Logger;
}

export interface RuntimeDisks {
  imageFs?: RuntimeDisk;
  /** The disk with the writable layers. */
  containerFs?: RuntimeDisk;
}

/** Longest wait for an answer. */
const patienceMs = 2000;
/** A failed call is not repeated for this long, because a runtime in trouble should not get more work. */
const retryAfterMs = 60_000;
const retryUnimplementedAfterMs = 600_000;

/** Usage as the runtime reports it. A call that fails or hangs returns nothing, and is skipped for a minute. */
export class RuntimeStats {
  /** Failed calls, and when they are retried. */
  private readonly retryAtMonotonic = new Map<string, number>();

  /** The last answer about containers. */
  private known: { atMonotonic: number; containers: ReadonlyMap<string, RuntimeContainerUsage> } = {
    atMonotonic: -Infinity,
    containers: new Map(),
  };

  /** The last answer about disks. */
  private knownDisks: { atMonotonic: number; disks: RuntimeDisks } = { atMonotonic: -Infinity, disks: {} };

  constructor(private readonly deps: Deps) {}

  /**
   * Returns the running containers of all owners, by id. Reuses an answer that is at most `maxAgeMs` old, because the
   * runtime has to query a separate process for each container.
   */
  async containers({ maxAgeMs }: { maxAgeMs: number }): Promise<ReadonlyMap<string, RuntimeContainerUsage>> {
    const { clock, runtime } = this.deps;
    const askedAtMonotonic = clock.monotonic();
    if (askedAtMonotonic - this.known.atMonotonic < maxAgeMs) return this.known.containers;
    const answer = await this.ask('ListContainerStats', (options) => runtime.listContainerStats({}, options));
    if (answer === undefined) return new Map();
    const now = clock.now();
    const figures = answer.stats.map((stats) => [stats.attributes?.id ?? '', containerUsage(stats, now)] as const);
    this.known = { atMonotonic: askedAtMonotonic, containers: new Map(figures) };
    return this.known.containers;
  }

  /** Returns the pods of all owners, by UID. */
  async pods(): Promise<ReadonlyMap<string, RuntimePodUsage>> {
    const answer = await this.ask('ListPodSandboxStats', (options) =>
      this.deps.runtime.listPodSandboxStats({}, options),
    );
    const now = this.deps.clock.now();
    return new Map((answer?.stats ?? []).map((stats) => [stats.attributes?.metadata?.uid ?? '', podUsage(stats, now)]));
  }

  /**
   * Reuses an answer that is at most `maxAgeMs` old, and the last one if the call fails. kubelet:
   * stats/cri_stats_provider.go ImageFsStats
   */
  async disks({ maxAgeMs }: { maxAgeMs: number }): Promise<RuntimeDisks> {
    const { clock, imageService } = this.deps;
    const askedAtMonotonic = clock.monotonic();
    if (askedAtMonotonic - this.knownDisks.atMonotonic < maxAgeMs) return this.knownDisks.disks;
    const answer = await this.ask('ImageFsInfo', (options) => imageService.imageFsInfo({}, options));
    // The disk does not change, and its free space is read elsewhere.
    if (answer === undefined) return this.knownDisks.disks;
    const now = clock.now();
    const imageFs = diskUsage(answer.imageFilesystems[0], now);
    // Older runtimes report one disk for both.
    const containerFs = diskUsage(answer.containerFilesystems[0], now) ?? imageFs;
    const disks = { ...(imageFs && { imageFs }), ...(containerFs && { containerFs }) };
    this.knownDisks = { atMonotonic: askedAtMonotonic, disks };
    return disks;
  }

  private async ask<T>(call: string, send: (options: CallOptions) => Promise<T>): Promise<T | undefined> {
    const { clock, logger } = this.deps;
    const retryAtMonotonic = this.retryAtMonotonic.get(call);
    if (retryAtMonotonic !== undefined && clock.monotonic() < retryAtMonotonic) return undefined;
    const over = new AbortController();
    try {
      const answer = await withTimeout(clock, patienceMs, send({ signal: over.signal }));
      this.retryAtMonotonic.delete(call);
      return answer;
    } catch (error) {
      const isMissing = isUnimplemented(error);
      if (retryAtMonotonic === undefined && !isMissing)
        logger.warn({ call, err: errorMessage(error) }, 'The runtime reports no statistics, so metrics are missing');
      const waitMs = isMissing ? retryUnimplementedAfterMs : retryAfterMs;
      this.retryAtMonotonic.set(call, clock.monotonic() + waitMs);
      return undefined;
    } finally {
      over.abort(new Error('no longer waited for'));
    }
  }
}

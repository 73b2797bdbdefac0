import type { Pod } from '../../api/types.ts';
import {
  type EvictionSignal,
  type EvictionThreshold,
  thresholdQuantity,
} from '../../api/values/eviction-thresholds.ts';
import { formatQuantity } from '../../api/values/quantity.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage } from '../../errors.ts';
import { abortWith } from '../../flow/abort-with.ts';
import { withTimeout } from '../../flow/with-timeout.ts';
import { untilTick } from '../../flow/ticks.ts';
import type { Logger } from '../../logger.ts';
import type { StatsProvider } from '../stats/stats-provider.ts';
import type { Emit } from '../view/event-bus.ts';
import { reasons } from '../view/reasons.ts';
import type { DiskLayout, NodeReclaim } from './disk-layout.ts';
import { resourceOf } from './eviction-message.ts';
import { EvictionManager, type EvictionManagerDeps } from './eviction-manager.ts';
import type { EmptyDirUsage, VolumesByPod } from './empty-dir-usage.ts';
import type { NodeConditions } from './node-conditions.ts';
import { type NodeSummary, withVolumes } from './node-summary.ts';
import type { NodePressure } from '../view/snapshot.ts';
import { pressureOf } from './thresholds-met.ts';

/** kubelet: eviction/eviction_manager.go monitoringInterval */
const periodMs = 10_000;
/** Shortest time between a check and the next one that a notice requests. */
const noticePeriodMs = 1000;
/** kubelet: eviction/eviction_manager.go podCleanupTimeout */
const cleanUpTimeoutMs = 30_000;
/** Longer than an unresponsive disk can delay a sample. */
const summaryTimeoutMs = 20_000;
const reclaimTimeoutMs = 60_000;
/** Longest time spent on measuring volumes before a pod is chosen. */
const diskUsageMs = 5000;

/** Reports when memory or a disk runs short. */
export interface PressureNotices {
  /** Calls back at each notice, until the returned function is called. */
  onNotice(callback: () => void): () => void;
}

type Inherited = 'config' | 'enforcesStorageLimits' | 'activePods' | 'evict' | 'wallClock';

interface Deps extends Pick<EvictionManagerDeps, Inherited> {
  diskLayout: (signal: AbortSignal) => Promise<DiskLayout>;
  stats: Pick<StatsProvider, 'summary' | 'nodeSummary'>;
  emptyDirs: Pick<EmptyDirUsage, 'ofLimited' | 'ofAll'>;
  notices: readonly PressureNotices[];
  /** Called with each new summary of the node. */
  onSummary: (node: NodeSummary['node']) => void;
  reclaim: (what: NodeReclaim, signal: AbortSignal) => Promise<void>;
  /** Resolves once these pods use no resources of the node any more. */
  cleanedUp: (pods: readonly Pod[]) => Promise<void>;
  conditions: NodeConditions;
  clock: Clock;
  emit: Emit;
  logger: Logger;
}

/**
 * Checks the resources of the node every ten seconds, after a notice, and after an eviction. Skips a check that fails
 * or hangs. kubelet: eviction/eviction_manager.go Start
 */
export class EvictionLoop {
  private readonly manager: EvictionManager;
  /** True while checks fail. */
  private isFailing = false;
  /** The threshold that the last event named. */
  private announced: EvictionThreshold | undefined;

  constructor(private readonly deps: Deps) {
    const { diskLayout, stats, emptyDirs, reclaim, logger } = deps;
    this.manager = new EvictionManager({
      ...deps,
      diskLayout: () => this.bounded(summaryTimeoutMs, diskLayout),
      summary: () =>
        this.bounded(summaryTimeoutMs, async (signal): Promise<NodeSummary> => {
          const needsPods = deps.enforcesStorageLimits && deps.activePods().some(limitsEphemeralStorage);
          const summary = await (needsPods ? stats.summary({ maxAgeMs: 0, signal }) : stats.nodeSummary(signal));
          deps.onSummary(summary.node);
          return deps.enforcesStorageLimits ? withVolumes(summary, await emptyDirs.ofLimited()) : summary;
        }),
      withPods: async ({ node }, { disk }) => {
        const { pods } = await this.bounded(summaryTimeoutMs, (signal) => stats.summary({ maxAgeMs: 0, signal }));
        return disk ? withVolumes({ node, pods }, await this.emptyDirUsage()) : { node, pods };
      },
      onObserved: () => {
        if (this.manager.thresholdsMet.length === 0) this.announced = undefined;
        deps.conditions.set(this.manager.nodePressures, this.causes());
      },
      onThresholdMet: (threshold) => {
        this.announce(threshold);
      },
      reclaim: async (what) => {
        try {
          await this.bounded(reclaimTimeoutMs, (signal) => reclaim(what, signal));
        } catch (error) {
          logger.warn({ what, err: errorMessage(error) }, 'Freeing resources of the node failed');
        }
      },
    });
  }

  /** False if there is nothing to check. */
  get isNeeded(): boolean {
    return this.manager.isNeeded;
  }

  /** Runs until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    if (!this.isNeeded) return;
    const notices = new Notices(this.deps.clock);
    const subscriptions = this.deps.notices.map((source) =>
      source.onNotice(() => {
        notices.add();
      }),
    );
    try {
      for (;;) {
        const evicted = await this.check();
        signal.throwIfAborted();
        if (evicted.length > 0) await this.cleanUp(evicted);
        else await notices.wait(signal);
      }
    } finally {
      for (const unsubscribe of subscriptions) unsubscribe();
    }
  }

  /** Resolves with the evicted pods. */
  private async check(): Promise<Pod[]> {
    const { logger } = this.deps;
    try {
      const evicted = await this.manager.synchronize();
      if (this.isFailing) logger.info('The resources of the node are checked again');
      this.isFailing = false;
      return evicted;
    } catch (error) {
      const level = this.isFailing ? 'debug' : 'warn';
      this.isFailing = true;
      logger[level]({ err: errorMessage(error) }, 'The resources of the node could not be checked; retrying');
      return [];
    }
  }

  private async cleanUp(pods: readonly Pod[]): Promise<void> {
    const { clock, cleanedUp, logger } = this.deps;
    try {
      await withTimeout(clock, cleanUpTimeoutMs, cleanedUp(pods));
    } catch (error) {
      logger.warn({ err: errorMessage(error) }, 'Evicted pods were not cleaned up in time');
    }
  }

  /** Records an event when a threshold begins to cause evictions. The kubelet does so in every check. */
  private announce(threshold: EvictionThreshold): void {
    if (this.announced === threshold) return;
    this.announced = threshold;
    this.deps.emit({
      type: 'Recorded',
      eventType: 'Warning',
      reason: reasons.evictionThresholdMet,
      message: `Attempting to reclaim ${resourceOf(threshold.signal)}`,
    });
  }

  /** Returns by condition a text such as `memory.available is 52Mi, threshold 100Mi`. */
  private causes(): Map<NodePressure, string> {
    const { thresholdsExceeded, observations } = this.manager;
    // The thresholds of containerfs are copies, so on a shared disk they would repeat the others.
    const signals = new Map<string, EvictionSignal>();
    for (const { signal, value } of thresholdsExceeded) {
      const observed = observations.get(signal);
      if (observed === undefined) continue;
      const wanted = formatQuantity(thresholdQuantity(value, observed.capacity));
      const text = `is ${formatQuantity(observed.available)}, threshold ${wanted}`;
      if (!signals.has(text)) signals.set(text, signal);
    }
    const causes = new Map<NodePressure, string>();
    for (const [text, signal] of signals) {
      const type = pressureOf(signal);
      const earlier = causes.get(type);
      causes.set(type, `${earlier === undefined ? '' : `${earlier}; `}${signal} ${text}`);
    }
    return causes;
  }

  /** Leaves out volumes that are not measured in time. */
  private async emptyDirUsage(): Promise<VolumesByPod> {
    const { clock, emptyDirs } = this.deps;
    const ended = new AbortController();
    const cancel = clock.after(diskUsageMs, () => {
      ended.abort();
    });
    return emptyDirs.ofAll(ended.signal).finally(cancel);
  }

  /** Aborts work that takes longer. */
  private async bounded<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const ended = new AbortController();
    try {
      return await withTimeout(this.deps.clock, ms, work(ended.signal));
    } finally {
      ended.abort();
    }
  }
}

/** True if only the pod's statistics show whether it exceeds a limit. */
function limitsEphemeralStorage({ spec }: Pod): boolean {
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  return containers.some(({ resources }) => resources?.limits?.['ephemeral-storage'] !== undefined);
}

/** Waits for the next check: until the period is over, or for a notice. */
class Notices {
  private hasNotice = false;
  private wake = (): void => undefined;

  constructor(private readonly clock: Clock) {}

  add(): void {
    this.hasNotice = true;
    this.wake();
  }

  async wait(signal: AbortSignal): Promise<void> {
    const startedAtMonotonic = this.clock.monotonic();
    if (!this.hasNotice) await this.sleep(untilTick(this.clock, periodMs), signal);
    const passedMs = this.clock.monotonic() - startedAtMonotonic;
    if (this.hasNotice && passedMs < noticePeriodMs) await this.clock.sleep(noticePeriodMs - passedMs, { signal });
    this.hasNotice = false;
  }

  private async sleep(ms: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.wake = () => {
      woken.abort();
    };
    const release = abortWith(woken, signal);
    try {
      await this.clock.sleep(ms, { signal: woken.signal });
    } catch {
      signal.throwIfAborted();
    } finally {
      release();
    }
  }
}

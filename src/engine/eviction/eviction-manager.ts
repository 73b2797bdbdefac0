import type { Pod } from '../../api/types.ts';
import { isEvictable } from '../../api/values/eviction-policy.ts';
import type { EvictionSignal, EvictionThreshold } from '../../api/values/eviction-thresholds.ts';
import type { Clock } from '../../clock.ts';
import type { WallClockHistory } from '../../flow/wall-clock-history.ts';
import { type DiskLayout, diskOf, type NodeReclaim, nodeReclaims, withContainerFsThresholds } from './disk-layout.ts';
import type { EvictionConfig } from './eviction-config.ts';
import { evictionMessage } from './eviction-message.ts';
import type { NodeSummary } from './node-summary.ts';
import { isRelieved, noPressure, observePressure, type PressureState } from './observe-pressure.ts';
import { rankPods, type UsageOf } from './rank-pods.ts';
import { type SignalObservations, signalObservations } from './signal-observations.ts';
import { exceededStorageLimit, type LimitSignal } from './storage-limits.ts';
import type { NodePressure } from '../view/snapshot.ts';

export interface EvictionManagerDeps {
  config: EvictionConfig;
  /** True if limits on the disk space of pods are enforced. kubelet: localStorageCapacityIsolation */
  enforcesStorageLimits: boolean;
  /** Called until it succeeds. */
  diskLayout: () => Promise<DiskLayout>;
  /** Returns the current usage of the node. It may leave out pods where they do not matter. */
  summary: () => Promise<NodeSummary>;
  /**
   * Returns the summary with all pods. Their disk usage may be a minute old, unless `disk` asks for the current one.
   */
  withPods: (summary: NodeSummary, wanted: { disk: boolean }) => Promise<NodeSummary>;
  /** Pods that have running containers and are not stopping. */
  activePods: () => readonly Pod[];
  /** Called when the conditions of the node are up to date, before anything is freed. */
  onObserved: () => void;
  /** Called before the node frees resources for a threshold. */
  onThresholdMet: (threshold: EvictionThreshold) => void;
  reclaim: (what: NodeReclaim) => Promise<void>;
  evict: (pod: Pod, eviction: CausedEviction) => void;
  clock: Pick<Clock, 'monotonic'>;
  wallClock: Pick<WallClockHistory, 'monotonicAt'>;
}

/** How and why a pod is evicted. */
export interface Eviction {
  message: string;
  gracePeriodSeconds: number;
}

/** An eviction with its cause, for the metrics. */
export interface CausedEviction extends Eviction {
  signal: EvictionSignal | LimitSignal;
  /** When the signal was observed. Absent if the pod exceeded its own limit. */
  observedAtMonotonic?: number;
}

/** kubelet: eviction/eviction_manager.go immediateEvictionGracePeriodSeconds */
const immediateGracePeriodSeconds = 1;

/**
 * Frees scarce resources of the node: first its own, then by evicting pods, one at a time. The policy may exempt pods.
 * kubelet: eviction/eviction_manager.go managerImpl
 *
 * INVARIANT: one `synchronize` runs at a time.
 */
export class EvictionManager {
  private state: PressureState = noPressure;
  private pressures: readonly NodePressure[] = [];
  private layout: DiskLayout | undefined;
  /** As in the kubelet, the thresholds of containerfs are added later. */
  private thresholds: readonly EvictionThreshold[];

  constructor(private readonly deps: EvictionManagerDeps) {
    this.thresholds = deps.config.thresholds;
  }

  /** False if there is nothing to check. */
  get isNeeded(): boolean {
    return this.deps.config.thresholds.length > 0 || this.deps.enforcesStorageLimits;
  }

  /** Returns the conditions of the node, sorted. */
  get nodePressures(): readonly NodePressure[] {
    return this.pressures;
  }

  /** Returns the thresholds that were exceeded for longer than their grace periods. */
  get thresholdsMet(): readonly EvictionThreshold[] {
    return this.state.thresholdsMet;
  }

  /** Returns all exceeded thresholds, including those within their grace periods. */
  get thresholdsExceeded(): readonly EvictionThreshold[] {
    return [...this.state.firstObservedAtMonotonic.keys()];
  }

  get observations(): SignalObservations {
    return this.state.observations;
  }

  /** Checks the node once. Resolves with the evicted pods. Rejects if the layout or the summary cannot be read. */
  async synchronize(): Promise<Pod[]> {
    const { config, enforcesStorageLimits, clock, wallClock } = this.deps;
    if (!this.isNeeded) return [];
    const layout = (this.layout ??= await this.deps.diskLayout());
    const summary = await this.deps.summary();
    const verdict = observePressure(
      this.state,
      signalObservations(summary, wallClock),
      { thresholds: this.thresholds, pressureTransitionMs: config.pressureTransitionMs },
      clock.monotonic(),
    );
    this.state = verdict.state;
    this.pressures = verdict.pressures;
    // Done only once, because the state of a threshold is kept by its object.
    if (this.thresholds === config.thresholds) {
      this.thresholds = withContainerFsThresholds(config.thresholds, layout);
    }
    this.deps.onObserved();
    const overLimit = enforcesStorageLimits ? this.evictOverLimit(usageIn(summary), layout) : [];
    if (overLimit.length > 0 || !verdict.toRelieve) return overLimit;
    this.deps.onThresholdMet(verdict.toRelieve);
    if (await this.reclaimNodeLevelResources(verdict.toRelieve, layout)) return [];
    return this.evictOne(verdict.toRelieve, summary, layout);
  }

  private evictOverLimit(usageOf: UsageOf, layout: DiskLayout): Pod[] {
    return this.evictablePods().filter((pod) => {
      const usage = usageOf(pod);
      const exceeded = usage && exceededStorageLimit(pod, usage, layout);
      if (exceeded === undefined) return false;
      this.deps.evict(pod, { ...exceeded, gracePeriodSeconds: immediateGracePeriodSeconds });
      return true;
    });
  }

  /** Resolves with true if that freed enough. */
  private async reclaimNodeLevelResources({ signal }: EvictionThreshold, layout: DiskLayout): Promise<boolean> {
    const reclaims = nodeReclaims(signal, layout);
    for (const what of reclaims) await this.deps.reclaim(what);
    if (reclaims.length === 0) return false;
    return isRelieved(this.thresholds, signalObservations(await this.deps.summary(), this.deps.wallClock));
  }

  private async evictOne(threshold: EvictionThreshold, summary: NodeSummary, layout: DiskLayout): Promise<Pod[]> {
    const disk = diskOf(threshold.signal) !== undefined;
    const usageOf = usageIn(await this.deps.withPods(summary, { disk }));
    const [pod] = rankPods(this.evictablePods(), threshold.signal, usageOf, layout);
    if (!pod) return [];
    const observed = this.observations.get(threshold.signal);
    this.deps.evict(pod, {
      signal: threshold.signal,
      ...(observed && { observedAtMonotonic: observed.atMonotonic }),
      message: evictionMessage(pod, threshold, observed, usageOf(pod)),
      gracePeriodSeconds: this.gracePeriodSeconds(pod, threshold),
    });
    return [pod];
  }

  private evictablePods(): Pod[] {
    const { activePods, config } = this.deps;
    return activePods().filter((pod) => isEvictable(pod, config.policy));
  }

  private gracePeriodSeconds({ spec }: Pod, { gracePeriodMs }: EvictionThreshold): number {
    const { maxPodGracePeriodSeconds } = this.deps.config;
    if (gracePeriodMs === 0) return immediateGracePeriodSeconds;
    return Math.min(maxPodGracePeriodSeconds, spec.terminationGracePeriodSeconds ?? maxPodGracePeriodSeconds);
  }
}

function usageIn({ pods }: NodeSummary): UsageOf {
  const usages = new Map(pods.map((usage) => [usage.podRef.uid, usage]));
  return ({ metadata }) => usages.get(metadata.uid);
}

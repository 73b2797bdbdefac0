import type { EvictionThreshold } from '../../api/values/eviction-thresholds.ts';
import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import { isCriticalPod } from '../../api/values/critical-pod.ts';
import { type DiskLayout, type NodeReclaim, nodeReclaims, withContainerFsThresholds } from './disk-layout.ts';
import { exceedsStorageLimits } from './exceeds-storage-limits.ts';
import type { NodeSummary } from './node-summary.ts';
import { isRelieved, noPressure, observePressure, type PressureState } from './observe-pressure.ts';
import { rankPods, type UsageOf } from './rank-pods.ts';
import { signalObservations } from './signal-observations.ts';
import type { NodePressure } from './thresholds-met.ts';

export interface EvictionManagerDeps {
  thresholds: readonly EvictionThreshold[];
  layout: DiskLayout;
  /** How long a condition lasts after its cause was last seen. kubelet: evictionPressureTransitionPeriod */
  pressureTransitionMs: number;
  /** Longest grace period of a pod that a soft threshold evicts. kubelet: evictionMaxPodGracePeriod */
  maxPodGracePeriodSeconds: number;
  /** True if pods are limited to their disk space. kubelet: localStorageCapacityIsolation */
  enforcesStorageLimits: boolean;
  /** Current usage of the node. */
  summary: () => Promise<NodeSummary>;
  /** Pods with running containers. */
  activePods: () => readonly Pod[];
  reclaim: (what: NodeReclaim) => Promise<void>;
  evict: (pod: Pod, gracePeriodSeconds: number) => Promise<void>;
  clock: Pick<Clock, 'now'>;
}

/** kubelet: eviction/eviction_manager.go immediateEvictionGracePeriodSeconds */
const immediateGracePeriodSeconds = 1;

/**
 * Frees scarce resources of the node: first its own, then by evicting pods, one at a time. Critical pods, including
 * static ones, are never evicted. kubelet: eviction/eviction_manager.go managerImpl
 *
 * INVARIANT: one `synchronize` runs at a time.
 */
export class EvictionManager {
  private readonly deps: EvictionManagerDeps;
  private state: PressureState = noPressure;
  private pressures: readonly NodePressure[] = [];
  /** At first without the thresholds of containerfs, as in the kubelet. */
  private thresholds: readonly EvictionThreshold[];

  constructor(deps: EvictionManagerDeps) {
    this.deps = deps;
    this.thresholds = deps.thresholds;
  }

  /** The conditions of the node, sorted. */
  get nodePressures(): readonly NodePressure[] {
    return this.pressures;
  }

  /** Thresholds that were exceeded for longer than their grace periods. */
  get thresholdsMet(): readonly EvictionThreshold[] {
    return this.state.thresholdsMet;
  }

  /** Checks the node once. Resolves with the evicted pods. Rejects if the summary fails. */
  async synchronize(): Promise<Pod[]> {
    const { layout, pressureTransitionMs, enforcesStorageLimits, clock } = this.deps;
    if (this.deps.thresholds.length === 0 && !enforcesStorageLimits) return [];
    const summary = await this.deps.summary();
    const usageOf: UsageOf = ({ metadata }) => summary.pods.find(({ podRef }) => podRef.uid === metadata.uid);
    const verdict = observePressure(
      this.state,
      signalObservations(summary),
      { thresholds: this.thresholds, pressureTransitionMs },
      clock.now(),
    );
    this.state = verdict.state;
    this.pressures = verdict.pressures;
    this.thresholds = withContainerFsThresholds(this.deps.thresholds, layout);
    const overLimit = enforcesStorageLimits ? await this.evictOverLimit(usageOf) : [];
    if (overLimit.length > 0 || !verdict.toRelieve) return overLimit;
    if (await this.reclaimNodeLevelResources(verdict.toRelieve)) return [];
    return this.evictOne(verdict.toRelieve, usageOf);
  }

  private async evictOverLimit(usageOf: UsageOf): Promise<Pod[]> {
    const { layout, activePods, evict } = this.deps;
    const pods = activePods().filter((pod) => {
      const usage = usageOf(pod);
      return !isCriticalPod(pod) && usage !== undefined && exceedsStorageLimits(pod, usage, layout);
    });
    for (const pod of pods) await evict(pod, immediateGracePeriodSeconds);
    return pods;
  }

  /** Resolves with true if that freed enough. */
  private async reclaimNodeLevelResources({ signal }: EvictionThreshold): Promise<boolean> {
    const reclaims = nodeReclaims(signal, this.deps.layout);
    for (const what of reclaims) await this.deps.reclaim(what);
    return reclaims.length > 0 && isRelieved(this.thresholds, signalObservations(await this.deps.summary()));
  }

  private async evictOne(threshold: EvictionThreshold, usageOf: UsageOf): Promise<Pod[]> {
    const { layout, activePods, evict } = this.deps;
    const pod = rankPods(activePods(), threshold.signal, usageOf, layout).find(
      (candidate) => !isCriticalPod(candidate),
    );
    if (!pod) return [];
    await evict(pod, this.gracePeriodSeconds(pod, threshold));
    return [pod];
  }

  private gracePeriodSeconds({ spec }: Pod, { gracePeriodMs }: EvictionThreshold): number {
    const { maxPodGracePeriodSeconds } = this.deps;
    if (gracePeriodMs === 0) return immediateGracePeriodSeconds;
    return Math.min(maxPodGracePeriodSeconds, spec.terminationGracePeriodSeconds ?? maxPodGracePeriodSeconds);
  }
}

import type { Pod } from '../../api/types.ts';
import { isJobPod } from '../../api/values/job-pod.ts';
import { BackOff } from '../../flow/back-off.ts';
import type { Clock } from '../../clock.ts';
import type { Emit } from '../view/event-bus.ts';
import { podEventRecorder } from '../view/event-recorder.ts';
import type { PodWorkers } from '../pod-workers/pod-workers.ts';
import type { Meter } from '../view/meter.ts';
import { reasons } from '../view/reasons.ts';
import type { StatusManager } from '../status/status-manager.ts';
import type { CausedEviction, Eviction } from './eviction-manager.ts';
import type { EvictionRecords } from './eviction-records.ts';

/** State of an eviction until the pod starts again. `isDue`: its back-off is over. */
interface Evicted {
  eviction?: { atMonotonic: number; isDue: boolean } | undefined;
}

interface Deps {
  workers: PodWorkers;
  statusManager: StatusManager;
  records: Pick<EvictionRecords, 'take' | 'write'>;
  /** The record of a declared pod. */
  entryOf: (uid: string) => Evicted | undefined;
  /** The declared pods that were evicted and have not started since. */
  evictedPods: () => { pod: Pod; eviction: NonNullable<Evicted['eviction']> }[];
  /** True while the node is under pressure, and until this is known. */
  mayBeUnderPressure: () => boolean;
  emit: Emit;
  clock: Clock;
  meter?: Pick<Meter, 'count' | 'observe'> | undefined;
}

/**
 * Evicts pods, and reports when to start them again. The kubelet never evicts a static pod, because nothing would start
 * it again. Here it restarts without its data once all pressure is over and its back-off has passed. The back-off is 10
 * s, doubled with every eviction up to 5 min, and reset after ten minutes without an eviction. After a restart of the
 * agent, the back-off begins at 10 s again. A pod with restartPolicy Never stays Failed. kubelet:
 * eviction/eviction_manager.go evictPod
 */
export class PodEvictions {
  private readonly backOff: BackOff;
  private relievedAtMonotonic = -Infinity;

  constructor(private readonly deps: Deps) {
    this.backOff = new BackOff(deps.clock);
  }

  evict(pod: Pod, eviction: CausedEviction): void {
    const { records, emit } = this.deps;
    const { message, gracePeriodSeconds, observedAtMonotonic } = eviction;
    const cause = observedAtMonotonic === undefined ? 'storageLimit' : undefined;
    podEventRecorder(emit, pod).warning(reasons.evicted, message, undefined, undefined, cause);
    this.count(eviction);
    void records.write(pod.metadata.uid, { message, gracePeriodSeconds });
    this.end(pod, eviction);
  }

  /** Called for a pod that was just started. Evicts it before its first sync if an earlier agent had evicted it. */
  resume(pod: Pod): void {
    const eviction = this.deps.records.take(pod.metadata.uid);
    if (eviction !== undefined) this.end(pod, eviction);
  }

  /** Called for a pod that an operator starts. If an earlier agent evicted it, it starts without its old data. */
  clearEviction({ metadata: { uid } }: Pod): void {
    if (this.deps.records.take(uid) !== undefined) this.record(uid, -Infinity);
  }

  private count({ signal, observedAtMonotonic }: CausedEviction): void {
    const { meter, clock } = this.deps;
    const labels = { eviction_signal: signal };
    meter?.count('kubelet_evictions', labels);
    if (observedAtMonotonic === undefined) return;
    meter?.observe('kubelet_eviction_stats_age_seconds', (clock.monotonic() - observedAtMonotonic) / 1000, labels);
  }

  /** Called when the node is no longer under pressure. */
  relieved(): void {
    this.relievedAtMonotonic = this.deps.clock.monotonic();
  }

  /** True if an evicted pod will start again. */
  get areWaiting(): boolean {
    return this.waiting().length > 0;
  }

  /** Returns the evicted pods whose back-off is over, each once. Returns none while the node is under pressure. */
  takeDue(): Pod[] {
    const { workers, mayBeUnderPressure } = this.deps;
    const waiting = this.waiting();
    if (waiting.length === 0 || mayBeUnderPressure()) return [];
    const due = waiting.filter(
      ({ pod: { metadata }, eviction }) =>
        workers.snapshot(metadata.uid).state === 'finished' && !this.isInBackOff(metadata.uid, eviction.atMonotonic),
    );
    for (const { eviction } of due) eviction.isDue = true;
    return due.map(({ pod }) => pod);
  }

  /** Called when a pod starts afresh. Returns true if it was evicted and was not yet due to start again. */
  startsAfresh(uid: string): boolean {
    // The time without an eviction starts to count.
    this.backOff.touch(uid);
    const entry = this.deps.entryOf(uid);
    const { eviction } = entry ?? {};
    if (entry !== undefined) entry.eviction = undefined;
    return eviction?.isDue === false;
  }

  /** Drops back-offs that are long over, but not those of pods that still wait, for example for admission. */
  gc(): void {
    for (const { pod } of this.deps.evictedPods()) this.backOff.touch(pod.metadata.uid);
    this.backOff.gc();
  }

  private waiting(): ReturnType<Deps['evictedPods']> {
    return this.deps.evictedPods().filter(({ eviction }) => !eviction.isDue);
  }

  private record(uid: string, atMonotonic: number): void {
    const entry = this.deps.entryOf(uid);
    if (entry !== undefined) entry.eviction = { atMonotonic, isDue: false };
  }

  private end(pod: Pod, { message, gracePeriodSeconds }: Eviction): void {
    const { workers, statusManager, clock } = this.deps;
    const { uid } = pod.metadata;
    statusManager.evict(pod, { reason: reasons.evicted, message, now: clock.now() });
    this.backOff.next(uid, clock.monotonic());
    if (pod.spec.restartPolicy !== 'Never' && !isJobPod(pod)) this.record(uid, clock.monotonic());
    workers.updatePod({
      type: 'kill',
      pod,
      killPodOptions: { evict: true, gracePeriodSecondsOverride: gracePeriodSeconds },
    });
  }

  private isInBackOff(uid: string, evictedAtMonotonic: number): boolean {
    const sinceMonotonic = Math.max(evictedAtMonotonic, this.relievedAtMonotonic);
    return this.deps.clock.monotonic() < sinceMonotonic + this.backOff.get(uid);
  }
}

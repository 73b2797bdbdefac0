import type { Pod } from '../../api/types.ts';
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

interface Deps {
  workers: PodWorkers;
  statusManager: StatusManager;
  records: Pick<EvictionRecords, 'take' | 'write'>;
  /** True while the node is under pressure, or this is not known yet. */
  mayBeUnderPressure: () => boolean;
  emit: Emit;
  clock: Clock;
  meter?: Pick<Meter, 'count' | 'observe'> | undefined;
}

/**
 * Evicts pods, and reports when to start them again. The kubelet never evicts a static pod, because nothing would start
 * it again. Here it restarts without its data 10 s after its eviction and the end of all pressure, doubled with every
 * eviction up to 5 min. Ten minutes after its return without an eviction reset that. A restart of the agent counts as a
 * first eviction. A pod with restartPolicy Never stays Failed. kubelet: eviction/eviction_manager.go evictPod
 */
export class PodEvictions {
  private readonly backOff: BackOff;
  /** When each pod that will start again was evicted, by UID; monotonic. */
  private readonly evicted = new Map<string, number>();
  /** UIDs of pods that were due and have not started yet. */
  private readonly due = new Set<string>();
  private relievedAtMonotonic = -Infinity;

  constructor(private readonly deps: Deps) {
    this.backOff = new BackOff(deps.clock);
  }

  evict(pod: Pod, eviction: CausedEviction): void {
    const { records, emit } = this.deps;
    const { message, gracePeriodSeconds } = eviction;
    podEventRecorder(emit, pod).warning(reasons.evicted, message);
    this.count(eviction);
    void records.write(pod.metadata.uid, { message, gracePeriodSeconds });
    this.end(pod, eviction);
  }

  /** Called for a pod that was just started. Evicts it before its first sync if an earlier agent had evicted it. */
  resume(pod: Pod): void {
    const eviction = this.deps.records.take(pod.metadata.uid);
    if (eviction !== undefined) this.end(pod, eviction);
  }

  /** Called for a pod that an operator starts. An eviction by an earlier agent then only makes it start afresh. */
  pardon({ metadata: { uid } }: Pod): void {
    if (this.deps.records.take(uid) !== undefined) this.evicted.set(uid, -Infinity);
  }

  private count({ signal, observedAtMonotonic }: CausedEviction): void {
    const { meter, clock } = this.deps;
    const labels = { eviction_signal: signal };
    meter?.count('kubelet_evictions', labels);
    if (observedAtMonotonic === undefined) return;
    meter?.observe('kubelet_eviction_stats_age_seconds', (clock.monotonic() - observedAtMonotonic) / 1000, labels);
  }

  /** Called when the pressure on the node ended. */
  relieved(): void {
    this.relievedAtMonotonic = this.deps.clock.monotonic();
  }

  /** True if an evicted pod will start again. */
  get areWaiting(): boolean {
    return this.evicted.size > 0;
  }

  /** UIDs of evicted pods whose back-off is over. Each is returned once, and none while the node is under pressure. */
  takeDue(): string[] {
    const { workers, mayBeUnderPressure } = this.deps;
    if (this.evicted.size === 0 || mayBeUnderPressure()) return [];
    const due = [...this.evicted.keys()].filter(
      (uid) => workers.snapshot(uid).state === 'finished' && !this.isInBackOff(uid),
    );
    for (const uid of due) {
      this.evicted.delete(uid);
      this.due.add(uid);
    }
    return due;
  }

  /** Called when a pod starts afresh. Returns true if it was evicted, and has not been due since. */
  startsAfresh(uid: string): boolean {
    // The time without an eviction begins.
    this.backOff.touch(uid);
    this.due.delete(uid);
    return this.evicted.delete(uid);
  }

  /** Forgets all other pods. */
  retain(podUIDs: ReadonlySet<string>): void {
    for (const uids of [this.evicted, this.due]) {
      for (const uid of uids.keys()) {
        // The back-off of a pod that waits, be it for admission, does not expire.
        if (podUIDs.has(uid)) this.backOff.touch(uid);
        else uids.delete(uid);
      }
    }
    this.backOff.gc();
  }

  private end(pod: Pod, { message, gracePeriodSeconds }: Eviction): void {
    const { workers, statusManager, clock } = this.deps;
    const { uid } = pod.metadata;
    statusManager.evict(pod, { reason: reasons.evicted, message, now: clock.now() });
    this.backOff.next(uid, clock.monotonic());
    if (pod.spec.restartPolicy !== 'Never') this.evicted.set(uid, clock.monotonic());
    workers.updatePod({
      type: 'kill',
      pod,
      killPodOptions: { evict: true, gracePeriodSecondsOverride: gracePeriodSeconds },
    });
  }

  private isInBackOff(uid: string): boolean {
    const sinceMonotonic = Math.max(this.evicted.get(uid) ?? -Infinity, this.relievedAtMonotonic);
    return this.deps.clock.monotonic() < sinceMonotonic + this.backOff.get(uid);
  }
}

import type { Pod } from '../../api/types.ts';
import { BackOff } from '../../flow/back-off.ts';
import type { Clock } from '../../clock.ts';
import type { Emit } from '../view/event-bus.ts';
import { podEventRecorder } from '../view/event-recorder.ts';
import type { PodWorkers } from '../pod-workers/pod-workers.ts';
import { reasons } from '../view/reasons.ts';
import type { StatusManager } from '../status/status-manager.ts';

/** kubelet: eviction/eviction_manager.go localStorageEviction, immediateEvictionGracePeriodSeconds */
const gracePeriodSeconds = 1;

interface Deps {
  workers: PodWorkers;
  statusManager: StatusManager;
  emit: Emit;
  clock: Clock;
}

/**
 * Evicts pods that exceed their limits, and reports when to start them again. The kubelet never evicts a static pod,
 * because nothing would start it again. Here it restarts without its data after 10 s, doubled with every eviction up to
 * 5 min. A pod with restartPolicy Never stays Failed. kubelet: eviction/eviction_manager.go evictPod
 */
export class PodEvictions {
  private readonly deps: Deps;
  private readonly backOff: BackOff;
  /** UIDs of pods that will start again. */
  private readonly evicted = new Set<string>();

  constructor(deps: Deps) {
    this.deps = deps;
    this.backOff = new BackOff(deps.clock);
  }

  evict(pod: Pod, message: string): void {
    const { workers, statusManager, emit, clock } = this.deps;
    const { uid } = pod.metadata;
    statusManager.evict(pod, { reason: reasons.evicted, message, now: clock.now() });
    podEventRecorder(emit, pod).warning(reasons.evicted, message);
    this.backOff.next(uid, clock.monotonic());
    if (pod.spec.restartPolicy !== 'Never') this.evicted.add(uid);
    workers.updatePod({
      type: 'kill',
      pod,
      killPodOptions: { evict: true, gracePeriodSecondsOverride: gracePeriodSeconds },
    });
  }

  /** UIDs of evicted pods whose back-off is over. Each is returned once. */
  takeDue(): string[] {
    const { workers, clock } = this.deps;
    const due = [...this.evicted].filter(
      (uid) =>
        workers.snapshot(uid).state === 'finished' && !this.backOff.isInBackOffSinceUpdate(uid, clock.monotonic()),
    );
    for (const uid of due) this.evicted.delete(uid);
    return due;
  }

  /** Forgets all other pods. */
  retain(podUIDs: ReadonlySet<string>): void {
    for (const uid of this.evicted) if (!podUIDs.has(uid)) this.evicted.delete(uid);
    this.backOff.gc();
  }
}

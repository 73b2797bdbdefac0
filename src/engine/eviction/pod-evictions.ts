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
 * Ends pods that use more of the node than they may, and knows when to start them over. The kubelet never evicts a static
 * pod, as nobody would bring it back; here it comes back without what it left, after 10 s, doubled with every eviction up
 * to 5 min. A pod that is never restarted stays Failed. kubelet: eviction/eviction_manager.go evictPod
 */
export class PodEvictions {
  private readonly deps: Deps;
  private readonly backOff: BackOff;
  /** UIDs of pods that are to come back. */
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

  /** UIDs of the pods that ended and waited long enough; each is named once. */
  takeDue(): string[] {
    const { workers, clock } = this.deps;
    const due = [...this.evicted].filter(
      (uid) =>
        workers.snapshot(uid).state === 'finished' && !this.backOff.isInBackOffSinceUpdate(uid, clock.monotonic()),
    );
    for (const uid of due) this.evicted.delete(uid);
    return due;
  }

  /** Forgets every pod but these. */
  retain(podUIDs: ReadonlySet<string>): void {
    for (const uid of this.evicted) if (!podUIDs.has(uid)) this.evicted.delete(uid);
    this.backOff.gc();
  }
}

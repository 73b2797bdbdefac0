import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import { isPodRunning, type RuntimePod } from '../container/runtime-pod.ts';
import type { PodEvictions } from '../eviction/pod-evictions.ts';
import type { PodGarbage } from '../gc/pod-garbage.ts';
import type { PodWorkers } from '../pod-workers/pod-workers.ts';
import type { StatusManager } from '../status/status-manager.ts';
import type { StatusRecords } from '../status/status-records.ts';
import type { EventBus } from '../view/event-bus.ts';
import { podEventRecorder } from '../view/event-recorder.ts';
import { reasons } from '../view/reasons.ts';
import type { PodEntry } from './pod-entry.ts';
import type { PodReplacements } from './pod-replacements.ts';
import type { StartActions } from './pod-starter.ts';

interface Deps {
  workers: PodWorkers;
  statusManager: StatusManager;
  statusRecords: StatusRecords;
  evictions: PodEvictions;
  garbage: PodGarbage;
  housekeeping: { request: () => void };
  /** Ends the back-off of a pod's syncs. */
  syncer: { retry: (podUID: string) => void };
  replacements: PodReplacements;
  /** The pod with this UID in the runtime's last listing. */
  runtimePod: (uid: string) => RuntimePod | undefined;
  events: EventBus;
  clock: Pick<Clock, 'now'>;
}

/** Starts workers of pods that may start, and stops pods that must not run. A pod that can complete starts clean. */
export class PodLauncher implements StartActions {
  /** UIDs of pods of an earlier agent that may still have volumes mounted. */
  private readonly unreleased = new Set<string>();
  readonly replacements: PodReplacements;

  constructor(private readonly deps: Deps) {
    this.replacements = deps.replacements;
  }

  /** Sets the pods of an earlier agent. Call it first. */
  adopt(earlierPods: readonly string[]): void {
    for (const uid of earlierPods) this.unreleased.add(uid);
  }

  /** Drops a pod that is no longer declared. */
  removed(uid: string): void {
    this.unreleased.delete(uid);
  }

  startOthers(): void {
    this.deps.housekeeping.request();
  }

  launch(pod: Pod): void {
    const { workers, statusManager, statusRecords, evictions, garbage } = this.deps;
    const { uid } = pod.metadata;
    const runsAnew = !workers.has(uid) && statusRecords.of(uid)?.runsAnew === true;
    if (runsAnew) this.beginAnew(pod);
    if (!workers.has(uid)) {
      // Start the status over, because the pod was not admitted before or its last run under this UID has finished.
      statusManager.remove(uid);
      // The pod restarts before its back-off is over, so its data and eviction record still exist.
      if (evictions.startsAfresh(uid) || runsAnew) garbage.startFreshRemoval(uid);
    }
    workers.updatePod({ type: 'create', pod });
    evictions.resume(pod);
  }

  endLastRun(pod: Pod): void {
    this.beginAnew(pod);
    this.end(pod);
    // Housekeeping restarts it.
    this.deps.workers.updatePod({ type: 'create', pod });
  }

  /** Stops the containers of a stopped pod and its earlier revisions. Keeps its data. */
  keepStopped(pod: Pod): void {
    const { statusManager, workers, clock } = this.deps;
    const { uid, name } = pod.metadata;
    this.replacements.endEarlier(pod);
    if (statusManager.get(uid)?.reason !== reasons.stopped) {
      const message = `Stopped by an operator. To start it: kubelet-ts start ${name}`;
      statusManager.evict(pod, { reason: reasons.stopped, message, now: clock.now() });
    }
    // A pod without a worker is from an earlier agent, which may have exited before it released the volumes.
    if (workers.has(uid) || this.unreleased.delete(uid) || this.runs(uid)) this.end(pod);
  }

  /** Starts a pod again that an operator had stopped. Housekeeping starts one that is still stopping. */
  startStopped(entry: PodEntry): void {
    const { workers, garbage, housekeeping, evictions, statusRecords, syncer } = this.deps;
    const { pod } = entry;
    const { uid } = pod.metadata;
    // If an earlier agent stopped the pod, it has no worker.
    const hasEnded = !workers.has(uid) || workers.snapshot(uid).state === 'finished';
    const beginsAnew = statusRecords.of(uid)?.runsAnew === true;
    evictions.clearEviction(pod);
    // A stop by the operator does not count as a crash.
    syncer.retry(uid);
    if (beginsAnew) this.reportRunAnew(pod);
    if (hasEnded && beginsAnew) garbage.startFreshRemoval(uid);
    // A worker with a pending restart would remove the pod's data when the pod terminates.
    if (!hasEnded && !beginsAnew) entry.startsAgain = true;
    else if (workers.has(uid)) workers.updatePod({ type: 'create', pod });
    housekeeping.request();
  }

  private beginAnew(pod: Pod): void {
    this.deps.evictions.clearEviction(pod);
    if (this.deps.garbage.removalOf(pod.metadata.uid) === undefined) this.reportRunAnew(pod);
  }

  private reportRunAnew(pod: Pod): void {
    const message = 'Starts again: everything that its last run left is removed first';
    podEventRecorder(this.deps.events.emit, pod).normal(reasons.runsAnew, message);
  }

  private end(pod: Pod): void {
    const { workers } = this.deps;
    const { uid } = pod.metadata;
    if (!workers.has(uid)) workers.updatePod({ type: 'create', pod });
    if (!workers.isPodTerminationRequested(uid)) workers.updatePod({ type: 'kill', pod });
  }

  private runs(uid: string): boolean {
    const pod = this.deps.runtimePod(uid);
    return pod !== undefined && isPodRunning(pod);
  }
}

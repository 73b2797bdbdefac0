import type { Pod } from '../../api/types.ts';
import { podKey } from '../../api/values/pod-names.ts';
import type { Clock } from '../../clock.ts';
import { withTimeout } from '../../flow/with-timeout.ts';
import { unlessAborted } from '../../flow/unless-aborted.ts';
import type { Logger } from '../../logger.ts';
import type { EventBus } from '../view/event-bus.ts';
import type { PodWorkers } from '../pod-workers/pod-workers.ts';
import { workersEnded } from '../pod-workers/workers-ended.ts';
import type { Meter } from '../view/meter.ts';
import { reasons } from '../view/reasons.ts';
import type { StatusManager } from '../status/status-manager.ts';
import { computeShutdownGroups, type ShutdownGroup, type ShutdownSettings } from './node-shutdown-groups.ts';
import { computeStopOrder } from './stop-order.ts';

interface Deps {
  settings: ShutdownSettings;
  workers: PodWorkers;
  statusManager: StatusManager;
  events: EventBus;
  /** Called when the shutdown is cancelled, to restart these pods. */
  onCancelled: (stopped: readonly Pod[]) => void;
  clock: Clock;
  meter?: Pick<Meter, 'set'> | undefined;
  logger: Logger;
}

const message = 'Pod was terminated in response to imminent node shutdown.';

/**
 * Stops the pods of a node that shuts down, one group after another, each within its time. In a group, pods stop before
 * the pods that they depend on. kubelet: nodeshutdown/nodeshutdown_manager.go processShutdownEvent
 */
export class NodeShutdown {
  private underWay: { done: Promise<void>; stopped: Pod[]; cancelled: AbortController } | undefined;

  constructor(private readonly deps: Deps) {}

  /** True while no pod may start. */
  get isShuttingDown(): boolean {
    return this.underWay !== undefined;
  }

  /**
   * Resolves once every pod has stopped or its time is over. `withinSeconds` may shorten that time. Concurrent calls
   * share one shutdown.
   */
  begin(withinSeconds?: number): Promise<void> {
    if (this.underWay !== undefined) return this.underWay.done;
    const { events, workers, settings, clock, meter } = this.deps;
    meter?.set('kubelet_graceful_shutdown_start_time_seconds', clock.now() / 1000);
    meter?.set('kubelet_graceful_shutdown_end_time_seconds', 0);
    const cancelled = new AbortController();
    const stopped: Pod[] = [];
    const stopAll = async (): Promise<void> => {
      for (const group of computeShutdownGroups(workers.activePods(), settings, withinSeconds)) {
        if (group.pods.length > 0) await this.stopGroup(group, clock.monotonic(), cancelled.signal);
        if (cancelled.signal.aborted) return;
      }
      meter?.set('kubelet_graceful_shutdown_end_time_seconds', clock.now() / 1000);
    };
    const reason = { type: 'Recorded', eventType: 'Normal', reason: reasons.shutdown } as const;
    events.emit({ ...reason, message: 'Shutdown manager detected shutdown event' });
    this.underWay = { done: Promise.resolve(), stopped, cancelled };
    this.underWay.done = stopAll();
    return this.underWay.done;
  }

  /** Cancels the shutdown and restarts the stopped pods. The kubelet leaves them stopped until its restart. */
  cancel(): void {
    const { underWay } = this;
    if (underWay === undefined) return;
    this.underWay = undefined;
    underWay.cancelled.abort();
    this.deps.onCancelled(underWay.stopped);
  }

  /** Each step gets an even share of the remaining time. */
  private async stopGroup(
    { priority, seconds, pods }: ShutdownGroup,
    startedAtMonotonic: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, logger } = this.deps;
    logger.info(
      { priority, pods: pods.map(({ metadata }) => podKey(metadata)), seconds },
      'Stopping pods for the shutdown of the node',
    );
    const endsAtMonotonic = startedAtMonotonic + seconds * 1000;
    const steps = computeStopOrder(pods);
    for (const [index, step] of steps.entries()) {
      const leftMs = Math.max(0, endsAtMonotonic - clock.monotonic());
      await this.stopPods(step, leftMs / (steps.length - index), signal);
      if (signal.aborted) return;
    }
  }

  private async stopPods(pods: readonly Pod[], forMs: number, signal: AbortSignal): Promise<void> {
    const { clock, events, logger, workers } = this.deps;
    const running = pods.filter(({ metadata }) => workers.snapshot(metadata.uid).state !== 'finished');
    const ends = workersEnded(
      events,
      running.map(({ metadata }) => metadata.uid),
    );
    for (const pod of running) this.stopPod(pod, Math.round(forMs / 1000));
    const isLate = await withTimeout(clock, forMs, unlessAborted(Promise.all(ends.values()), signal)).then(
      () => false,
      () => !signal.aborted,
    );
    if (!isLate) return;
    const late = running.filter(({ metadata }) => workers.snapshot(metadata.uid).state !== 'finished');
    logger.warn(
      { pods: late.map(({ metadata }) => podKey(metadata)) },
      'Pods did not stop within the time of their group',
    );
  }

  private stopPod(pod: Pod, forSeconds: number): void {
    const { workers, statusManager, clock } = this.deps;
    const { uid } = pod.metadata;
    this.underWay?.stopped.push(pod);
    if (statusManager.get(uid)?.phase !== 'Succeeded') {
      statusManager.evict(pod, { reason: reasons.terminated, message, now: clock.now() });
    }
    const { terminationGracePeriodSeconds: own = forSeconds } = pod.spec;
    const gracePeriodSecondsOverride = Math.min(own, forSeconds);
    workers.updatePod({ type: 'kill', pod, killPodOptions: { gracePeriodSecondsOverride } });
  }
}

import type { Clock } from '../../clock.ts';
import { isUnimplemented } from '../../cri/errors.ts';
import type { Logger } from '../../logger.ts';
import type { ContainerExits } from '../container/container-exits.ts';
import { type GenericPleg, relistPeriodMs } from './generic-pleg.ts';
import type { RuntimePod } from '../container/runtime-pod.ts';
import type { Meter } from '../view/meter.ts';
import type { RuntimeEvent, RuntimeEventStream } from './runtime-event-stream.ts';

/**
 * Relist period while an event stream is open. The kubelet then relists every five minutes: kubelet.go
 * eventedPlegRelistPeriod
 */
const safetyRelistPeriodMs = 60_000;
/** A stream counts as open after this time without an error, because it sends nothing until an event occurs. */
const acceptedAfterMs = 1000;
/** Delay before a lost stream is reopened. It doubles with each attempt. */
const minRetryMs = 100;
const maxRetryMs = 5000;
/** Retry even if the runtime has no stream, because it may be upgraded. */
const unsupportedRetryMs = 60_000;
/**
 * The runtime's listings may show a change a little later than its event. Milliseconds between reads, and the growth
 * factor of each wait. A read is late by at most half of the time that the change took.
 */
const firstRereadMs = 3;
/** After the event of a stopped sandbox, the runtime still releases its network before the listing changes. */
const firstSandboxRereadMs = 24;
const lastRereadMs = 1000;
const rereadGrowth = 1.5;
/**
 * Time for the runtime to confirm a reported exit before the agent reads the pod again. Usually another read comes
 * first.
 */
const confirmMs = 300;

interface Deps {
  /** In order of preference. */
  streams: readonly RuntimeEventStream[];
  pleg: Pick<GenericPleg, 'relistPod' | 'containerEnded' | 'setRelistPeriod' | 'podUIDOf' | 'pod'>;
  /** Exits that the listings do not show yet. */
  exits: ContainerExits;
  /**
   * Finds the pod UID of a container or sandbox that is not listed yet. Resolves with undefined if the runtime does not
   * know it.
   */
  podUIDOf: (id: string, signal: AbortSignal) => Promise<string | undefined>;
  /** Called when an open stream is lost, for example because the runtime stopped. */
  onLost: () => void;
  /** Called when the kernel killed a process of this container because memory ran out. */
  onOutOfMemory: (id: string) => void;
  clock: Clock;
  meter?: Pick<Meter, 'count'> | undefined;
  logger: Logger;
}

/**
 * Follows the runtime's event stream, so that changes do not wait for a relist. An event is a hint: the change is read
 * from the runtime, so lost, repeated and early events do no harm. Only the reported exit of a container is trusted
 * until the runtime confirms it. kubelet: pleg/evented.go
 *
 * INVARIANTS: without a stream all pods are relisted every second. When a stream opens or is lost, all pods are
 * relisted at once, so no change is missed.
 */
export class EventWatch {
  /** Name of the open stream. */
  live: string | undefined;

  constructor(private readonly deps: Deps) {}

  /** Follows the first available stream until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      for (const stream of this.deps.streams) await this.follow(stream, signal);
      await this.deps.clock.sleep(unsupportedRetryMs, { signal });
    }
  }

  /** Opens the stream repeatedly. Resolves if the runtime does not support it. */
  private async follow(stream: RuntimeEventStream, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.deps;
    for (let retryMs = minRetryMs; ; retryMs = Math.min(retryMs * 2, maxRetryMs)) {
      const cancel = clock.after(acceptedAfterMs, () => {
        this.begin(stream.name);
      });
      try {
        for await (const event of stream.events(signal)) {
          this.begin(stream.name);
          // The container may keep running, in which case nothing changed.
          if (event.type === 'outOfMemory') this.deps.onOutOfMemory(event.id);
          else void this.relist(event, signal);
        }
        logger.debug({ stream: stream.name }, 'The event stream of the runtime ended');
      } catch (error) {
        signal.throwIfAborted();
        this.deps.meter?.count('kubelet_evented_pleg_connection_error_count', {});
        if (isUnimplemented(error)) return;
        logger.debug({ err: error, stream: stream.name }, 'The event stream of the runtime was lost');
      } finally {
        cancel();
        if (this.live !== undefined) retryMs = minRetryMs;
        this.end();
      }
      await clock.sleep(retryMs, { signal });
    }
  }

  private begin(name: string): void {
    if (this.live === name) return;
    this.live = name;
    this.deps.meter?.count('kubelet_evented_pleg_connection_success_count', {});
    this.deps.pleg.setRelistPeriod(safetyRelistPeriodMs);
    this.deps.logger.info({ stream: name }, 'Following the event stream of the runtime');
  }

  private end(): void {
    if (this.live === undefined) return;
    this.live = undefined;
    this.deps.pleg.setRelistPeriod(relistPeriodMs);
    this.deps.onLost();
    this.deps.logger.info('Lost the event stream of the runtime, relisting every second');
  }

  /** Relists the pod until the listing shows the event's change. */
  private async relist(event: RuntimeEvent, signal: AbortSignal): Promise<void> {
    const { pleg, exits, clock, logger } = this.deps;
    if (event.end !== undefined) exits.record(event.id, event.end);
    try {
      const podUID = event.podUID ?? pleg.podUIDOf(event.id) ?? (await this.deps.podUIDOf(event.id, signal));
      if (podUID === undefined) return;
      await (event.end === undefined ? pleg.relistPod(podUID, signal) : pleg.containerEnded(podUID, event.id, signal));
      const isSandbox = pleg.pod(podUID)?.sandboxes.some(({ id }) => id === event.id) === true;
      const firstWaitMs = isSandbox ? firstSandboxRereadMs : firstRereadMs;
      for (let waitMs = firstWaitMs; waitMs <= lastRereadMs; waitMs *= rereadGrowth) {
        if (isSeen(event, pleg.pod(podUID))) break;
        await clock.sleep(waitMs, { signal });
        await pleg.relistPod(podUID, signal);
      }
      const isContainer = pleg.pod(podUID)?.containers.some(({ id }) => id === event.id) === true;
      if (!isContainer || !exits.isUnconfirmed(event.id)) return;
      await clock.sleep(confirmMs, { signal });
      if (exits.isUnconfirmed(event.id)) await pleg.relistPod(podUID, signal);
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error, id: event.id }, 'Reading a pod after an event failed');
    }
  }
}

/** True if the listing shows the event's change. */
function isSeen({ id, type }: RuntimeEvent, pod: RuntimePod | undefined): boolean {
  const container = pod?.containers.find((listed) => listed.id === id);
  const sandbox = pod?.sandboxes.find((listed) => listed.id === id);
  switch (type) {
    case 'exited':
      return container?.state !== 'running' && sandbox?.state !== 'ready';
    case 'removed':
      return container === undefined && sandbox === undefined;
    case 'changed':
    case 'outOfMemory':
      return true;
  }
}

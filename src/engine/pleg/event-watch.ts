import type { Clock } from '../../clock.ts';
import { isUnimplemented } from '../../cri/errors.ts';
import type { Logger } from '../../logger.ts';
import type { ContainerEnds } from '../container/container-ends.ts';
import { type GenericPleg, relistPeriodMs } from './generic-pleg.ts';
import type { RuntimePod } from '../container/pod-records.ts';
import type { RuntimeEvent, RuntimeEventStream } from './runtime-event-stream.ts';

/** Of the safety net beside a stream. The kubelet relists every five minutes then: kubelet.go eventedPlegRelistPeriod */
const safetyRelistPeriodMs = 60_000;
/** A stream that was not refused for this long is there: it says nothing until something happens. */
const acceptedAfterMs = 1000;
/** Between two tries to open a lost stream, doubled each time. */
const minRetryMs = 100;
const maxRetryMs = 5000;
/** A runtime without any stream may be replaced by one that has one. */
const unsupportedRetryMs = 60_000;
/**
 * After an event the runtime may take a moment until its listings say the same: milliseconds between looks, and by how much
 * each wait is longer than the one before, so that no look comes late by more than half of the time that it took.
 */
const firstLookAgainMs = 3;
const lastLookAgainMs = 1000;
const lookAgainGrowth = 1.5;
/** So long the runtime has to say by itself what an event told, before it is asked; most often something else asks by then. */
const confirmMs = 300;

interface Deps {
  /** In the order in which they are tried. */
  streams: readonly RuntimeEventStream[];
  pleg: Pick<GenericPleg, 'relistPod' | 'containerEnded' | 'setRelistPeriod' | 'podUIDOf' | 'pod'>;
  /** Where ends are noted that the listings do not show yet. */
  ends: ContainerEnds;
  /** UID of the pod of a container or sandbox that no listing has shown yet; undefined: the runtime does not know it. */
  podUIDOf: (id: string, signal: AbortSignal) => Promise<string | undefined>;
  clock: Clock;
  logger: Logger;
}

/**
 * Lets the runtime tell when to look at a pod, so that nothing waits for a relist. An event is a hint: what happened is
 * read from the runtime, so a lost, doubled or early one does no harm. An event that tells how a container ended is
 * believed until the runtime says the same. kubelet: pleg/evented.go
 *
 * INVARIANTS: while no stream is there everything is relisted every second; when one comes and when it is lost everything
 * is relisted at once, so that nothing falls between the two.
 */
export class EventWatch {
  private readonly deps: Deps;
  /** Name of the stream that is there now. */
  live: string | undefined;

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** Follows the first stream that the runtime has, until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      for (const stream of this.deps.streams) await this.follow(stream, signal);
      await this.deps.clock.sleep(unsupportedRetryMs, { signal });
    }
  }

  /** Opens the stream again and again; returns when the runtime does not have it. */
  private async follow(stream: RuntimeEventStream, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.deps;
    for (let retryMs = minRetryMs; ; retryMs = Math.min(retryMs * 2, maxRetryMs)) {
      const cancel = clock.after(acceptedAfterMs, () => {
        this.begin(stream.name);
      });
      try {
        for await (const event of stream.events(signal)) {
          this.begin(stream.name);
          void this.lookAt(event, signal);
        }
        logger.debug({ stream: stream.name }, 'The event stream of the runtime ended');
      } catch (error) {
        signal.throwIfAborted();
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
    this.deps.pleg.setRelistPeriod(safetyRelistPeriodMs);
    this.deps.logger.info({ stream: name }, 'The runtime tells what happens');
  }

  private end(): void {
    if (this.live === undefined) return;
    this.live = undefined;
    this.deps.pleg.setRelistPeriod(relistPeriodMs);
    this.deps.logger.info('The runtime tells no more what happens: relisting every second');
  }

  /** Looks at the pod until the listing says what the event said. */
  private async lookAt(event: RuntimeEvent, signal: AbortSignal): Promise<void> {
    const { pleg, ends, clock, logger } = this.deps;
    if (event.end !== undefined) ends.note(event.id, event.end);
    try {
      const podUID = event.podUID ?? pleg.podUIDOf(event.id) ?? (await this.deps.podUIDOf(event.id, signal));
      if (podUID === undefined) return;
      await (event.end === undefined ? pleg.relistPod(podUID, signal) : pleg.containerEnded(podUID, event.id, signal));
      for (let waitMs = firstLookAgainMs; waitMs <= lastLookAgainMs; waitMs *= lookAgainGrowth) {
        if (isSeen(event, pleg.pod(podUID))) break;
        await clock.sleep(waitMs, { signal });
        await pleg.relistPod(podUID, signal);
      }
      const isContainer = pleg.pod(podUID)?.containers.some(({ id }) => id === event.id) === true;
      if (!isContainer || !ends.isUnconfirmed(event.id)) return;
      await clock.sleep(confirmMs, { signal });
      if (ends.isUnconfirmed(event.id)) await pleg.relistPod(podUID, signal);
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error, id: event.id }, 'Looking at a pod after an event failed');
    }
  }
}

/** True when the listing is as new as the event. */
function isSeen({ id, type }: RuntimeEvent, pod: RuntimePod | undefined): boolean {
  const container = pod?.containers.find((listed) => listed.id === id);
  const sandbox = pod?.sandboxes.find((listed) => listed.id === id);
  switch (type) {
    case 'exited':
      return container?.state !== 'running' && sandbox?.state !== 'ready';
    case 'removed':
      return container === undefined && sandbox === undefined;
    case 'changed':
      return true;
  }
}

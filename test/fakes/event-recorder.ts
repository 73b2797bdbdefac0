import type { Clock } from '../../src/clock.ts';
import type { Emit } from '../../src/engine/view/event-bus.ts';
import type { KubeletEvent } from '../../src/engine/view/events.ts';
import { Journal } from './journal.ts';

type EventType = KubeletEvent['type'];
type EventOf<T extends EventType> = KubeletEvent & { type: T };

/**
 * Records the engine's events. Pass `emit` to a component under test, or `record` to the `subscribe` of a whole engine.
 */
export class EventRecorder {
  readonly #clock: Clock;
  readonly #journal = new Journal<KubeletEvent>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get events(): readonly KubeletEvent[] {
    return this.#journal.items;
  }

  readonly emit: Emit = (event) => {
    this.record({ at: this.#clock.now(), ...event });
  };

  readonly record = (event: KubeletEvent): void => {
    this.#journal.add(event);
  };

  /** Resolves to the next event of this type that matches and that no earlier wait returned (see Journal). */
  waitFor<T extends EventType>(type: T, matches?: (event: EventOf<T>) => boolean): Promise<EventOf<T>>;
  waitFor(matches: (event: KubeletEvent) => boolean): Promise<KubeletEvent>;
  waitFor<T extends EventType>(
    typeOrMatches: T | ((event: KubeletEvent) => boolean),
    matches: (event: EventOf<T>) => boolean = () => true,
  ): Promise<KubeletEvent> {
    if (typeof typeOrMatches === 'function') return this.#journal.next(typeOrMatches);
    return this.#journal.next((event) => event.type === typeOrMatches && matches(event as EventOf<T>));
  }

  /**
   * Returns what happened to the pod with this name, in one or two words per event: its type, and what distinguishes it
   * from others of that type, as in `['PodAdded', 'WorkerStateChanged sync', 'Recorded Pulled', 'ContainerStarted
   * main']`.
   */
  sequence(podName: string): string[] {
    return this.events.filter((event) => 'pod' in event && event.pod.name === podName).map(labelOf);
  }
}

function labelOf(event: KubeletEvent): string {
  switch (event.type) {
    case 'WorkerStateChanged':
      return `${event.type} ${event.state}`;
    case 'Recorded':
      return `${event.type} ${event.reason}`;
    case 'PodStatusChanged':
      return `${event.type} ${event.phase}`;
    case 'ContainerStarted':
    case 'ContainerDied':
    case 'ContainerRemoved':
    case 'ContainerChanged':
      return `${event.type} ${event.containerName ?? 'sandbox'}`;
    case 'SourceRead':
    case 'PodAdded':
    case 'PodUpdated':
    case 'PodRemoved':
    case 'SyncStarted':
    case 'SyncFinished':
    case 'PullProgressed':
    case 'RuntimeReady':
    case 'RuntimeNotReady':
    case 'WorkloadChanged':
      return event.type;
  }
}

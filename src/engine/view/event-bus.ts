import type { PodRef } from '../../api/values/pod-names.ts';
import type { Clock } from '../../clock.ts';
import type { KubeletEvent } from './events.ts';
import type { Faults } from '../../flow/faults.ts';

type Unstamped<E> = E extends unknown ? Omit<E, 'at'> : never;
/** Publishes one event. The bus adds the time. */
export type Emit = (event: Unstamped<KubeletEvent>) => void;

/** How many events of each pod a snapshot has. */
export const maxEventsPerPod = 64;

type PodEvent = Extract<KubeletEvent, { pod: unknown }>;

/**
 * True for an event that is kept with its pod. Pull progress is not, because it would push out events that matter
 * later.
 */
export function isKeptByPod(event: KubeletEvent): event is PodEvent & { pod: PodRef } {
  return 'pod' in event && event.type !== 'PullProgressed';
}

interface EventBusDeps {
  clock: Clock;
  /** Bounds the texts of an event and redacts values of Secrets. */
  redactor: { event<E extends KubeletEvent>(event: E): E };
  faults: Pick<Faults, 'record'>;
}

/**
 * Passes every engine event to every subscriber, in order and with secrets redacted. Keeps each pod's newest events.
 */
export class EventBus {
  private readonly listeners = new Set<(event: KubeletEvent) => void>();
  private readonly history = new Map<string, KubeletEvent[]>();

  constructor(private readonly deps: EventBusDeps) {}

  readonly emit: Emit = (event) => {
    const { clock, redactor } = this.deps;
    const stamped = redactor.event<KubeletEvent>({ at: clock.now(), ...event });
    if (isKeptByPod(stamped)) this.remember(stamped.pod.uid, stamped);
    for (const listener of this.listeners) this.notify(listener, stamped);
  };

  /** If a listener throws, counts that as a fault, so that the emitter and the other listeners continue. */
  private notify(listener: (event: KubeletEvent) => void, event: KubeletEvent): void {
    try {
      listener(event);
    } catch (error) {
      this.deps.faults.record('listener of events', error);
    }
  }

  subscribe(listener: (event: KubeletEvent) => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  eventsOf(podUID: string): KubeletEvent[] {
    return [...(this.history.get(podUID) ?? [])];
  }

  /** Drops the events of all other pods. */
  retain(podUIDs: ReadonlySet<string>): void {
    for (const uid of this.history.keys()) if (!podUIDs.has(uid)) this.history.delete(uid);
  }

  private remember(podUID: string, event: KubeletEvent): void {
    const events = this.history.get(podUID);
    if (events === undefined) {
      this.history.set(podUID, [event]);
      return;
    }
    events.push(event);
    if (events.length > maxEventsPerPod) events.shift();
  }
}

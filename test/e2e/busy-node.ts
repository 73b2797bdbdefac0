import { join } from 'node:path';
import type { KubeletEvent } from '../../src/engine/view/events.ts';
import { maxEventsPerPod } from '../../src/engine/view/event-bus.ts';
import type { EngineSnapshot, EngineView, PodSnapshot } from '../../src/engine/view/snapshot.ts';
import { systemClock } from '../../src/clock.ts';
import { serveControlSocket } from '../../src/server/control/control-socket.ts';
import { AgentMetrics } from '../../src/server/metrics/agent-metrics.ts';
import { silentFaults } from '../fakes/silent-faults.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { makeEntry, makeSnapshot } from '../tui/make-snapshot.ts';

/** The time between two groups of events, in milliseconds. */
const stepMs = 20;

interface Size {
  pods: number;
  eventsPerSecond: number;
}

/**
 * Serves a node with many pods on the control socket of a root-dir. Returns a counter of the events so far, and a
 * function that stops it.
 */
export async function serveBusyNode(rootDir: string, size: Size): Promise<{ eventCount(): number; close(): void }> {
  const view = new BusyView(size);
  const refused = (): Promise<never> => Promise.reject(new Error('a busy node has no actions'));
  const server = await serveControlSocket(join(rootDir, 'kubelet-ts.sock'), {
    metrics: new AgentMetrics(systemClock),
    faults: silentFaults(),
    logger: silentLogger,
    view: Promise.resolve({
      snapshot: () => view.snapshot(),
      subscribe: (listener) => view.subscribe(listener),
      history: () => Promise.resolve([]),
      settled: () => Promise.resolve(),
      operate: refused,
      operateWorkload: refused,
      declarerOf: () => undefined,
      pastRevisions: () => [],
      addEphemeralContainer: refused,
      removeEphemeralContainer: refused,
      summary: refused,
    }),
    waitsFor: () => undefined,
    shutdown: () => undefined,
  });
  return {
    eventCount: () => view.eventCount,
    close: () => {
      view.close();
      void server.close();
    },
  };
}

/** Pods whose containers exit and start all the time. */
class BusyView implements EngineView {
  readonly #entries: PodSnapshot[];
  readonly #listeners = new Set<(event: KubeletEvent) => void>();
  readonly #timer: NodeJS.Timeout;
  readonly #node: Omit<EngineSnapshot, 'pods'>;
  #count = 0;

  constructor({ pods, eventsPerSecond }: Size) {
    this.#entries = Array.from({ length: pods }, (_, index) => makeEntry(`app-${index}-bench`));
    this.#node = makeSnapshot([], { nodeName: 'bench', startedAt: Date.now() });
    let due = 0;
    this.#timer = setInterval(() => {
      for (due += (eventsPerSecond * stepMs) / 1000; due >= 1; due -= 1) this.#next();
    }, stepMs);
  }

  snapshot(): EngineSnapshot {
    return { ...this.#node, pods: [...this.#entries] };
  }

  subscribe(listener: (event: KubeletEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get eventCount(): number {
    return this.#count;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Emits the next event and updates the state of its pod. */
  #next(): void {
    const count = this.#count++;
    const index = Math.floor(count / kinds.length) % this.#entries.length;
    const entry = this.#entries[index];
    const kind = kinds[count % kinds.length];
    if (entry === undefined || kind === undefined) return;
    const { name, namespace, uid } = entry.pod.metadata;
    const at = Date.now();
    const event = kind({ at, pod: { name, namespace, uid }, id: `${count}`.padStart(idLength, '0') });
    const next = makeEntry(name, {
      container: {
        restartCount: Math.floor(count / kinds.length / this.#entries.length),
        ...(event.type === 'ContainerDied' && { ready: false }),
      },
      ...(event.type === 'ContainerDied' && { containerState: { waiting: { reason: 'CrashLoopBackOff' } } }),
      worker: { working: event.type === 'SyncStarted', lastSyncAt: at, nextSyncAt: at + 60_000 },
    });
    this.#entries[index] = { ...next, events: [...entry.events, event].slice(-maxEventsPerPod) };
    for (const listener of this.#listeners) listener(event);
  }
}

/** As many digits as the screen shows. */
const idLength = 13;

interface Happened {
  at: number;
  pod: { name: string; namespace: string; uid: string };
  id: string;
}

/** The life of a container that exits, over and over. */
const kinds: readonly ((facts: Happened) => KubeletEvent)[] = [
  ({ at, pod }) => ({ at, pod, type: 'SyncStarted', state: 'sync' }),
  ({ at, pod }) =>
    recorded({ at, pod, reason: 'Pulled', message: 'Container image "busybox:1.36" is already present' }),
  ({ at, pod }) => recorded({ at, pod, reason: 'Created', message: 'Container created' }),
  ({ at, pod }) => recorded({ at, pod, reason: 'Started', message: 'Container started' }),
  ({ at, pod, id }) => ({ at, pod, id, type: 'ContainerStarted', containerName: 'main' }),
  ({ at, pod }) => ({ at, pod, type: 'SyncFinished', durationMs: 30, nextSyncAt: at + 60_000 }),
  ({ at, pod }) => ({ at, pod, type: 'PodStatusChanged', phase: 'Running', ready: true }),
  ({ at, pod, id }) => ({ at, pod, id, type: 'ContainerDied', containerName: 'main', exitCode: 1 }),
];

function recorded(facts: { reason: string; message: string } & Omit<Happened, 'id'>): KubeletEvent {
  return { ...facts, type: 'Recorded', eventType: 'Normal' };
}

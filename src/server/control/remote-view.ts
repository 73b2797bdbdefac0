import type { Clock } from '../../clock.ts';
import type { KubeletEvent } from '../../engine/view/events.ts';
import type { EngineSnapshot, PodUsage, RemoteEngineView, Silence } from '../../engine/view/snapshot.ts';
import { errorMessage } from '../../errors.ts';
import { fetchSnapshot, fetchStats, followEvents } from './control-client.ts';

interface Deps {
  socketPath: string;
  clock: Clock;
}

/**
 * Milliseconds between two fetches without an event, because some changes emit none and a stuck agent emits none at
 * all.
 */
const lookPeriodMs = 2000;
/** Pause after a fetch, in multiples of its duration: the agent spends at most a tenth of its time on this reader. */
const pausePerLook = 9;
const shortestPauseMs = 100;
const reconnectMs = 1000;
/** Several readers share a sample that is at most this old, in milliseconds. */
const maxSampleAgeMs = 4000;
/** Limit on events since the last snapshot; older ones are dropped. */
const maxPending = 500;

/**
 * The engine of an agent in another process, over its control socket. The snapshot is the newest one fetched; it
 * includes all events delivered before. An agent that ends or is stuck is looked for until it answers again.
 */
export class RemoteView implements RemoteEngineView {
  readonly #deps: Deps;
  readonly #closed = new AbortController();
  readonly #listeners = new Set<(event: KubeletEvent) => void>();
  #snapshot: EngineSnapshot;
  #answeredAt: number;
  #silence: Silence | undefined;
  #pending: KubeletEvent[] = [];
  #wanted = (): void => undefined;

  constructor(deps: Deps, snapshot: EngineSnapshot) {
    this.#deps = deps;
    this.#snapshot = snapshot;
    this.#answeredAt = deps.clock.now();
    void this.#follow();
    void this.#look();
  }

  snapshot(): EngineSnapshot {
    return this.#snapshot;
  }

  silence(): Silence | undefined {
    return this.#silence;
  }

  async usage(): Promise<PodUsage[]> {
    const request = { maxAgeMs: maxSampleAgeMs, cpuAndMemoryOnly: true };
    const summary = await fetchStats(this.#deps.socketPath, request).catch(() => undefined);
    return (summary?.pods ?? []).map(({ podRef: { uid }, cpu, memory }) => ({
      uid,
      ...(cpu?.usageNanoCores !== undefined && { nanoCores: cpu.usageNanoCores }),
      ...(memory?.workingSetBytes !== undefined && { memoryBytes: memory.workingSetBytes }),
    }));
  }

  subscribe(listener: (event: KubeletEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#closed.abort();
    this.#wanted();
  }

  /** Reads events until closed, and reconnects after each loss of the connection. */
  async #follow(): Promise<void> {
    const { socketPath, clock } = this.#deps;
    const { signal } = this.#closed;
    while (!signal.aborted) {
      try {
        for await (const event of followEvents(socketPath, signal)) {
          this.#pending = [...this.#pending, event].slice(-maxPending);
          this.#wanted();
        }
      } catch (error) {
        this.#noteSilence(error);
      }
      await clock.sleep(reconnectMs, { signal }).catch(() => undefined);
    }
  }

  /** Fetches snapshots in a loop while there are new events. */
  async #look(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#closed;
    while (!signal.aborted) {
      const wanted = new Promise<void>((resolve) => (this.#wanted = resolve));
      const begunAtMonotonic = clock.monotonic();
      const events = this.#pending;
      this.#pending = [];
      try {
        await this.#fetch();
        for (const event of events) for (const listener of this.#listeners) listener(event);
      } catch (error) {
        this.#noteSilence(error);
      }
      const pauseMs = Math.max(shortestPauseMs, pausePerLook * (clock.monotonic() - begunAtMonotonic));
      await clock.sleep(pauseMs, { signal }).catch(() => undefined);
      const over = new AbortController();
      await Promise.race([
        wanted,
        clock.sleep(lookPeriodMs, { signal: AbortSignal.any([signal, over.signal]) }).catch(() => undefined),
      ]);
      over.abort();
    }
  }

  async #fetch(): Promise<void> {
    const snapshot = await fetchSnapshot(this.#deps.socketPath);
    if (snapshot === undefined) {
      this.#noteSilence(new Error('the agent has ended'));
      return;
    }
    this.#snapshot = snapshot;
    this.#answeredAt = this.#deps.clock.now();
    this.#silence = undefined;
  }

  #noteSilence(error: unknown): void {
    this.#silence = { since: this.#answeredAt, message: errorMessage(error) };
  }
}

import type { Clock } from '../../clock.ts';
import type { KubeletEvent } from '../../engine/view/events.ts';
import type { EngineSnapshot, PodUsage, RemoteEngineView, Silence } from '../../engine/view/snapshot.ts';
import { applyChange } from '../../engine/view/snapshot-change.ts';
import { errorMessage } from '../../errors.ts';
import { beatMs, type ChangeLine } from './change-feed.ts';
import { fetchAgent, fetchStats, followChanges } from './control-client.ts';

interface Deps {
  socketPath: string;
  clock: Clock;
}

/** Milliseconds without a line after which the agent is checked. */
const quietMs = beatMs + 1000;
const reconnectMs = 1000;
/** Several readers share a sample that is at most this old, in milliseconds. */
const maxSampleAgeMs = 4000;

/**
 * The engine of an agent in another process, over its control socket. A stream of changes keeps the snapshot up to
 * date; it includes all events delivered before. If the agent exits or is stuck, reconnects until it answers again.
 */
export class RemoteView implements RemoteEngineView {
  private readonly closed = new AbortController();
  private readonly listeners = new Set<(event: KubeletEvent) => void>();
  private latest: EngineSnapshot;
  private answeredAt: number;
  private currentSilence: Silence | undefined;

  /**
   * Resolves with the first snapshot. Resolves with undefined if no agent runs. Rejects with a `UserError` if the agent
   * is stuck and, unless `waits` is true, while it starts or waits for its runtime.
   */
  static async open(deps: Deps, { waits = false } = {}): Promise<RemoteView | undefined> {
    const over = new AbortController();
    const lines = followChanges(deps.socketPath, over.signal, { waits });
    const first = await lines.next();
    if (first.done !== true && 'whole' in first.value) return new RemoteView(deps, first.value.whole, lines, over);
    over.abort();
    return undefined;
  }

  private constructor(
    private readonly deps: Deps,
    snapshot: EngineSnapshot,
    lines: AsyncGenerator<ChangeLine, void>,
    over: AbortController,
  ) {
    this.latest = snapshot;
    this.answeredAt = deps.clock.now();
    void this.follow(lines, over);
  }

  snapshot(): EngineSnapshot {
    return this.latest;
  }

  silence(): Silence | undefined {
    return this.currentSilence;
  }

  async usage(): Promise<PodUsage[]> {
    const request = { maxAgeMs: maxSampleAgeMs, cpuAndMemoryOnly: true };
    const summary = await fetchStats(this.deps.socketPath, request).catch(() => undefined);
    return (summary?.pods ?? []).map(({ podRef: { uid }, cpu, memory }) => ({
      uid,
      ...(cpu?.usageNanoCores !== undefined && { nanoCores: cpu.usageNanoCores }),
      ...(memory?.workingSetBytes !== undefined && { memoryBytes: memory.workingSetBytes }),
    }));
  }

  subscribe(listener: (event: KubeletEvent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  close(): void {
    this.closed.abort();
  }

  /** Reads changes until closed, and reconnects each time the connection is lost. */
  private async follow(lines: AsyncGenerator<ChangeLine, void>, over: AbortController): Promise<void> {
    const { socketPath, clock } = this.deps;
    const { signal } = this.closed;
    await this.read(lines, over);
    for (;;) {
      await clock.sleep(reconnectMs, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const next = new AbortController();
      await this.read(followChanges(socketPath, next.signal), next);
    }
  }

  /** Applies lines until the connection or this view closes. */
  private async read(lines: AsyncGenerator<ChangeLine, void>, over: AbortController): Promise<void> {
    const { clock } = this.deps;
    const end = (): void => {
      over.abort();
    };
    this.closed.signal.addEventListener('abort', end, { once: true });
    let cancelCheck = (): void => undefined;
    const expectLine = (): void => {
      cancelCheck();
      cancelCheck = clock.after(quietMs, () => {
        expectLine();
        void this.check();
      });
    };
    expectLine();
    try {
      for await (const line of lines) {
        expectLine();
        this.apply(line);
      }
      if (!over.signal.aborted) this.recordSilence('the agent has exited');
    } catch (error) {
      this.recordSilence(errorMessage(error));
    } finally {
      cancelCheck();
      end();
      this.closed.signal.removeEventListener('abort', end);
    }
  }

  private apply(line: ChangeLine): void {
    this.latest = 'whole' in line ? line.whole : applyChange(this.latest, line);
    this.answeredAt = this.deps.clock.now();
    this.currentSilence = undefined;
    const events = ('whole' in line ? undefined : line.events) ?? [];
    for (const event of events) for (const listener of this.listeners) listener(event);
  }

  /** Checks why the agent sends nothing. An agent that still answers is only busy. */
  private async check(): Promise<void> {
    const askedAt = this.answeredAt;
    const message = await fetchAgent(this.deps.socketPath).then(
      (agent) => (agent === undefined ? 'the agent has exited' : undefined),
      errorMessage,
    );
    const isStill = askedAt === this.answeredAt && !this.closed.signal.aborted;
    if (message !== undefined && isStill) this.recordSilence(message);
  }

  private recordSilence(message: string): void {
    this.currentSilence = { since: this.answeredAt, message };
  }
}

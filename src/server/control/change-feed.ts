import type { ServerResponse } from 'node:http';
import type { Clock } from '../../clock.ts';
import type { KubeletEvent } from '../../engine/view/events.ts';
import type { EngineSnapshot, EngineView } from '../../engine/view/snapshot.ts';
import { computeChange, type SnapshotChange } from '../../engine/view/snapshot-change.ts';

/** One line of `GET /v1/changes`: first the whole snapshot, then changes. */
export type ChangeLine = { whole: EngineSnapshot & { pid: number } } | SnapshotChange;

interface Deps {
  clock: Pick<Clock, 'monotonic' | 'after'>;
}

/**
 * Milliseconds between two lines without an event, because some changes emit none. It also shows that the agent is
 * alive.
 */
export const beatMs = 2000;
/** Minimum milliseconds between two lines. */
const shortestPauseMs = 100;
/** Pause after a beat, in multiples of its duration: all readers together take a fiftieth of a core. */
const pausePerBeat = 49;
/**
 * Maximum pause in milliseconds, because a beat seems to take as long as the process was stopped in it. After beats of
 * more than 0.2 s, the share is larger.
 */
const longestPauseMs = 10_000;
/** Limit on events of a line. A reader that missed more gets the whole snapshot again. */
const maxEvents = 1000;

/** The state that a reader has. */
interface Known {
  snapshot: EngineSnapshot;
  /** Number of the next event. */
  nextEvent: number;
}

/**
 * Sends snapshots as changes. One snapshot of the engine serves all readers. A slow reader is skipped until it has read
 * its last line; then it gets all changes in one line. Costs nothing without readers.
 */
export class ChangeFeed {
  private readonly readers = new Map<ServerResponse, Known>();
  private engine: EngineView | undefined;
  private unsubscribe = (): void => undefined;
  private cancelBeat = (): void => undefined;
  private events: KubeletEvent[] = [];
  private eventCount = 0;
  private isSoon = false;
  private earliestMonotonic = 0;

  constructor(private readonly deps: Deps) {}

  /** Sends lines until the reader disconnects. */
  add(engine: EngineView, response: ServerResponse): void {
    if (this.readers.size === 0) this.begin(engine);
    const snapshot = engine.snapshot();
    this.readers.set(response, { snapshot, nextEvent: this.eventCount });
    response.write(bytesOf({ whole: { pid: process.pid, ...snapshot } }));
    response.on('drain', this.wanted).once('close', () => {
      this.readers.delete(response);
      if (this.readers.size === 0) this.end();
    });
  }

  private begin(engine: EngineView): void {
    this.engine = engine;
    this.unsubscribe = engine.subscribe((event) => {
      this.events.push(event);
      this.eventCount += 1;
      // Not one by one, because each removal moves the rest.
      if (this.events.length > 2 * maxEvents) this.events.splice(0, maxEvents);
      this.wanted();
    });
    this.schedule(beatMs);
  }

  private end(): void {
    this.unsubscribe();
    this.cancelBeat();
    this.engine = undefined;
    this.events = [];
    this.isSoon = false;
  }

  private readonly wanted = (): void => {
    if (this.isSoon || this.engine === undefined) return;
    this.isSoon = true;
    this.schedule(Math.max(0, this.earliestMonotonic - this.deps.clock.monotonic()));
  };

  private schedule(ms: number): void {
    this.cancelBeat();
    this.cancelBeat = this.deps.clock.after(ms, this.beat);
  }

  private readonly beat = (): void => {
    const { clock } = this.deps;
    const begunMonotonic = clock.monotonic();
    const readers = [...this.readers].filter(([response]) => !response.writableNeedDrain);
    if (this.engine !== undefined && readers.length > 0) this.sendTo(readers, this.engine.snapshot());
    const endMonotonic = clock.monotonic();
    const shareMs = pausePerBeat * (endMonotonic - begunMonotonic);
    const pauseMs = Math.min(longestPauseMs, Math.max(shortestPauseMs, shareMs));
    this.earliestMonotonic = endMonotonic + pauseMs;
    this.isSoon = false;
    this.schedule(Math.max(beatMs, pauseMs));
  };

  private sendTo(readers: [ServerResponse, Known][], snapshot: EngineSnapshot): void {
    // Readers that keep up have the same state, so their line is created once.
    const lines = new Map<EngineSnapshot, Buffer>();
    for (const [response, known] of readers) {
      const line = lines.get(known.snapshot) ?? bytesOf(this.lineFor(known, snapshot));
      lines.set(known.snapshot, line);
      this.readers.set(response, { snapshot, nextEvent: this.eventCount });
      response.write(line);
    }
    const firstNeeded = Math.min(...[...this.readers.values()].map(({ nextEvent }) => nextEvent));
    this.events = this.events.slice(this.events.length - Math.min(this.eventCount - firstNeeded, maxEvents));
  }

  private lineFor({ snapshot: before, nextEvent }: Known, snapshot: EngineSnapshot): ChangeLine {
    const missed = this.eventCount - nextEvent;
    if (missed > this.events.length) return { whole: { pid: process.pid, ...snapshot } };
    return computeChange(before, snapshot, missed === 0 ? [] : this.events.slice(-missed));
  }
}

function bytesOf(line: ChangeLine): Buffer {
  return Buffer.from(`${JSON.stringify(line)}\n`);
}

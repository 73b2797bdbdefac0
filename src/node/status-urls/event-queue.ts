import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import { appendHistory, readHistory, syncHistory } from '../../engine/history/history-file.ts';
import type { KubeletEvent } from '../../engine/view/events.ts';
import { errorMessage } from '../../errors.ts';
import type { Logger } from '../../logger.ts';

/** The newest events are kept up to this size. The file of events has at most twice as much. */
export const maxQueuedBytes = 1024 * 1024;
/** Events of one post. Many servers accept bodies up to 1 MiB. */
const maxPostedBytes = 256 * 1024;
/** A change of the file is flushed to disk after this time. It survives a crash of this process at once. */
const syncMs = 5000;
/** Delay before a failed write is retried. */
const retryMs = 30_000;

interface QueuedEvent {
  sequence: number;
  /** The event with its sequence number, as JSON. */
  json: string;
}

/** Events for one post, as JSON, oldest first. */
export interface EventBatch {
  events: readonly string[];
  /** Sequence number of the newest event in the batch. In an empty batch, the newest of all. */
  lastSequence: number;
  /** How many events were dropped before the first of them. */
  lostEvents: number;
  /** True if more are queued. */
  hasMore: boolean;
}

interface Deps {
  /** The file is in this folder. */
  folder: string;
  clock: Clock;
  logger: Logger;
}

/**
 * The newest events, numbered across restarts of the agent, in memory and on disk. If the disk fails, events stay in
 * memory and are written later. Beyond the limit, the oldest events are dropped; the numbers show how many.
 */
export class EventQueue {
  private readonly path: string;
  private readonly queued: QueuedEvent[] = [];
  private queuedBytes = 0;
  private newest = 0;
  private written = 0;
  private writing: Promise<void> | undefined;
  private failing = false;
  private cancelRetry: (() => void) | undefined;
  private cancelFlush: (() => void) | undefined;

  constructor(private readonly deps: Deps) {
    this.path = join(deps.folder, 'events.jsonl');
  }

  /** Loads the events of an earlier agent. New numbers are above `leastSequence` too. Rejects with a file error. */
  async load(leastSequence: number): Promise<void> {
    const lines = (await readHistory(this.path)).split('\n').filter((line) => line !== '');
    const events = lines.flatMap(parseLine);
    const damaged = lines.length - events.length;
    if (damaged > 0) {
      const message = 'Damaged lines of the events for the status URLs are left out';
      this.deps.logger.warn({ path: this.path, lines: damaged }, message);
    }
    for (const event of events) if (event.sequence > this.newest) this.keep(event);
    this.newest = Math.max(this.newest, leastSequence);
    this.written = this.newest;
  }

  /** Number of the newest event; 0 if there was none. */
  get newestSequence(): number {
    return this.newest;
  }

  /** True while events are only in memory, so that the next agent uses their numbers again. */
  get isFailing(): boolean {
    return this.failing;
  }

  add(event: KubeletEvent): void {
    const sequence = this.newest + 1;
    this.keep({ sequence, json: JSON.stringify({ sequence, ...event }) });
    this.writing ??= this.write();
  }

  /** Returns the oldest events after a number that fit in one post. */
  after(sequence: number): EventBatch {
    const waiting = this.queued.filter((event) => event.sequence > sequence);
    let bytes = 0;
    const fits = ({ json }: QueuedEvent): boolean => (bytes += Buffer.byteLength(json)) <= maxPostedBytes;
    const end = waiting.findIndex((event, index) => !fits(event) && index > 0);
    const batch = end < 0 ? waiting : waiting.slice(0, end);
    const first = batch[0]?.sequence ?? this.newest + 1;
    return {
      events: batch.map(({ json }) => json),
      lastSequence: batch.at(-1)?.sequence ?? Math.max(sequence, this.newest),
      lostEvents: Math.max(0, first - sequence - 1),
      hasMore: batch.length < waiting.length,
    };
  }

  /** Resolves after the last write, even if it failed. */
  async close(): Promise<void> {
    await this.writing;
    this.cancelRetry?.();
    this.cancelFlush?.();
  }

  private keep(event: QueuedEvent): void {
    this.queued.push(event);
    this.newest = event.sequence;
    this.queuedBytes += Buffer.byteLength(event.json);
    while (this.queuedBytes > maxQueuedBytes) this.queuedBytes -= Buffer.byteLength(this.queued.shift()?.json ?? '');
  }

  /** Appends until all events are in the file. Never rejects. */
  private async write(): Promise<void> {
    const { clock, logger } = this.deps;
    this.cancelRetry?.();
    try {
      while (this.written < this.newest) {
        const unwritten = this.queued.filter(({ sequence }) => sequence > this.written);
        const lines = unwritten.map(({ json }) => `${json}\n`).join('');
        await appendHistory(this.path, lines, () => '', maxQueuedBytes);
        this.written = unwritten.at(-1)?.sequence ?? this.newest;
      }
      this.failing = false;
      // A later event does not delay the flush.
      this.cancelFlush ??= clock.after(syncMs, () => void this.flush());
    } catch (error) {
      const hint = 'Until then they are only in memory. Make room in the root-dir, or make it writable.';
      if (!this.failing) {
        logger.warn({ err: errorMessage(error), hint }, 'Saving events for the status URLs failed; retrying');
      }
      this.failing = true;
      this.cancelRetry = clock.after(retryMs, () => {
        this.writing ??= this.write();
      });
    } finally {
      this.writing = undefined;
    }
  }

  /** If it fails, the next write reports it. */
  private async flush(): Promise<void> {
    this.cancelFlush = undefined;
    await syncHistory(this.path).catch(() => undefined);
  }
}

/** Empty for a line that a power cut damaged. */
function parseLine(json: string): QueuedEvent[] {
  try {
    const { sequence } = JSON.parse(json) as Partial<QueuedEvent>;
    return typeof sequence === 'number' ? [{ sequence, json }] : [];
  } catch {
    return [];
  }
}

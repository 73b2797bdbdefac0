import type { Clock } from '../clock.ts';
import { errorMessage } from '../errors.ts';
import type { Logger } from '../logger.ts';

/** So long the same line is not written again, doubled each time that it would be. Milliseconds. */
const firstPauseMs = 60_000;
const longestPauseMs = 3_600_000;
/** Lines that are remembered. */
const maxLines = 1000;

interface Written {
  pauseMs: number;
  /** Monotonic. */
  nextAtMs: number;
  held: number;
}

/**
 * The same log without the same warning or error again and again: what fails and is tried again every second is one line,
 * then one a minute later, and so on up to an hour. `repeated` counts the lines between that were not written.
 */
export function withoutRepeats(logger: Logger, clock: Pick<Clock, 'monotonic'>): Logger {
  return quiet(logger, '', new Repeats(clock));
}

class Repeats {
  private readonly clock: Pick<Clock, 'monotonic'>;
  private readonly written = new Map<string, Written>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.clock = clock;
  }

  /** How many lines of this key were held back before this one; undefined: this one is too. */
  take(key: string): number | undefined {
    const now = this.clock.monotonic();
    const before = this.written.get(key);
    if (before !== undefined && now < before.nextAtMs) {
      before.held += 1;
      return undefined;
    }
    // After as long a time without the line again it is news.
    const isOver = before === undefined || now >= before.nextAtMs + before.pauseMs;
    const pauseMs = isOver ? firstPauseMs : Math.min(before.pauseMs * 2, longestPauseMs);
    this.written.delete(key);
    this.written.set(key, { pauseMs, nextAtMs: now + pauseMs, held: 0 });
    const [oldest] = this.written.keys();
    if (this.written.size > maxLines && oldest !== undefined) this.written.delete(oldest);
    return before?.held ?? 0;
  }
}

function quiet(logger: Logger, bindings: string, repeats: Repeats): Logger {
  const write = (level: 'warn' | 'error', args: readonly unknown[]): void => {
    const [first, second] = args;
    const [facts, message] = typeof first === 'string' ? [{}, first] : [first as object, second as string | undefined];
    const held = repeats.take([level, message, bindings, textOf(facts)].join('\n'));
    if (held === undefined) return;
    logger[level](held === 0 ? facts : { ...facts, repeated: held }, message ?? '');
  };
  return {
    debug: logger.debug.bind(logger),
    info: logger.info.bind(logger),
    warn: (...args: readonly unknown[]) => {
      write('warn', args);
    },
    error: (...args: readonly unknown[]) => {
      write('error', args);
    },
    child: (more) => quiet(logger.child(more), bindings + textOf(more), repeats),
  };
}

/** Errors that say the same are the same, wherever they were thrown. */
function textOf(facts: object): string {
  return JSON.stringify(facts, (_key, value: unknown) => {
    if (value instanceof Error) return errorMessage(value);
    return typeof value === 'bigint' ? value.toString() : value;
  });
}

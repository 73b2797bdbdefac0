import { type Clock, systemClock } from '../../clock.ts';
import { reasons } from '../../engine/view/reasons.ts';
import type { Logger } from '../../logger.ts';

/** The state of a repeated failure. Times are monotonic milliseconds. */
export interface Repetition {
  /** Minimum time between the last line and the next. */
  intervalMs: number;
  writtenAt: number;
  seenAt: number;
  /** Number of repetitions since the last line. */
  omitted: number;
}

const firstIntervalMs = 10_000;
const longestIntervalMs = 3_600_000;
/** A failure that was absent for this long, or for twice its interval, counts as new. */
const quietMs = 600_000;
/** Maximum number of remembered failures. The least recent is dropped first. */
const maxFailures = 1000;

/**
 * Returns the new state, and the number of repetitions that were dropped before this line. The number is undefined if
 * this line is dropped too.
 */
function nextRepetition(
  known: Repetition | undefined,
  now: number,
  intervalMs = firstIntervalMs,
): { repeated: number | undefined; repetition: Repetition } {
  const isNew = known === undefined || now - known.seenAt > Math.max(quietMs, 2 * known.intervalMs);
  if (isNew) return { repeated: 0, repetition: written(intervalMs, now) };
  if (now - known.writtenAt < known.intervalMs) {
    return { repeated: undefined, repetition: { ...known, seenAt: now, omitted: known.omitted + 1 } };
  }
  const nextMs = Math.min(2 * known.intervalMs, longestIntervalMs);
  return { repeated: known.omitted, repetition: written(nextMs, now) };
}

const written = (intervalMs: number, now: number): Repetition => ({
  intervalMs,
  writtenAt: now,
  seenAt: now,
  omitted: 0,
});

/**
 * A log that writes a failure at once, and then after 10 s, 20 s, 40 s and so on up to an hour, with the number of
 * dropped lines as `repeated`. Failures are warnings, errors, and messages about a back-off. Errors that are not bugs
 * are logged without their stack.
 */
export function withGrowingIntervals(logger: Logger, clock: Clock): Logger {
  return limited(logger, { clock, failures: new Map(), bindings: '', intervalMs: firstIntervalMs });
}

/** A log that writes each failure only once. */
export function eachFailureOnce(logger: Logger, clock: Clock = systemClock): Logger {
  return limited(logger, { clock, failures: new Map(), bindings: '', intervalMs: Infinity });
}

interface Limits {
  clock: Clock;
  /** Repetitions by `sameness`, newest last. */
  failures: Map<string, Repetition>;
  /** Bindings of a child logger. */
  bindings: string;
  /** Time from the first line to the second. */
  intervalMs: number;
}

type Level = 'info' | 'warn' | 'error';

function limited(logger: Logger, limits: Limits): Logger {
  const at = (level: Level): Logger[Level] => {
    const write = (facts: unknown, message?: string): void => {
      const entry = typeof facts === 'string' ? { facts: {}, message: facts } : { facts: shown(facts), message };
      if (level === 'info' && !isRepeated(entry.facts)) {
        logger.info(entry.facts, entry.message);
        return;
      }
      const repeated = repetitions(limits, level, entry);
      if (repeated === undefined) return;
      logger[level](repeated === 0 ? entry.facts : { ...entry.facts, repeated }, entry.message);
    };
    return write;
  };
  return {
    debug: logger.debug.bind(logger),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (bindings) =>
      limited(logger.child(bindings), { ...limits, bindings: limits.bindings + JSON.stringify(bindings) }),
  };
}

interface Entry {
  facts: Record<string, unknown>;
  message: string | undefined;
}

/** Returns the number of repetitions dropped since the last line. Returns undefined if this one is dropped too. */
function repetitions(
  { clock, failures, bindings, intervalMs }: Limits,
  level: Level,
  entry: Entry,
): number | undefined {
  const key = `${level} ${bindings} ${sameness(entry)}`;
  const { repeated, repetition } = nextRepetition(failures.get(key), clock.monotonic(), intervalMs);
  failures.delete(key);
  failures.set(key, repetition);
  const [oldest] = failures.keys();
  if (failures.size > maxFailures && oldest !== undefined) failures.delete(oldest);
  return repeated;
}

const repeatedReasons: readonly unknown[] = [reasons.backOff, reasons.pulling];

/** True for reasons that are repeated on every attempt. */
const isRepeated = ({ reason }: Record<string, unknown>): boolean => repeatedReasons.includes(reason);

/**
 * A key that two entries about the same failure share. Omits ids, times and large numbers, which differ between
 * attempts.
 */
function sameness({ facts, message = '' }: Entry): string {
  const lasting = Object.entries(facts).filter(([name]) => !/(Ms|At|Seconds)$/.test(name));
  const texts = lasting.map(([name, value]) => [name, name === 'err' ? withoutIds(errorText(value)) : value]);
  return `${withoutIds(message)} ${JSON.stringify(texts)}`;
}

const errorText = (value: unknown): string => (value instanceof Error ? value.message : String(value));

const ids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{12,}|\d+(?:\.\d+)?(?:ms|\u00b5s|[smh])\b|\d{5,}/g;
const withoutIds = (text: string): string => text.replaceAll(ids, '#');

/** Built-in errors, which we never throw on purpose, and errors without a name. */
const bugs: readonly string[] = ['Error', 'TypeError', 'RangeError', 'ReferenceError', 'SyntaxError', 'AssertionError'];

/** Drops the stack of errors that the machine, the runtime or the user caused. Only bugs keep their stack. */
function shown(facts: unknown): Record<string, unknown> {
  const { err, ...others } = facts as Record<string, unknown>;
  if (err === undefined) return others;
  const isExpected = err instanceof Error && ('syscall' in err || !bugs.includes(err.name));
  return { ...others, err: isExpected ? err.message : err };
}

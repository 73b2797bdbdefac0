import { type Clock, systemClock } from '../../clock.ts';
import { reasons } from '../../engine/view/reasons.ts';
import type { Logger } from '../../logger.ts';

/** What is known of a failure that is told again and again. Monotonic milliseconds. */
export interface Repetition {
  /** No line is written before so much time passed since the last one. */
  intervalMs: number;
  toldAt: number;
  seenAt: number;
  /** How often it came since. */
  untold: number;
}

const firstIntervalMs = 10_000;
const longestIntervalMs = 3_600_000;
/** A failure that did not come for this long, or twice its interval, is a new one. */
const quietMs = 600_000;
/** Failures that are remembered; the one that came least recently is forgotten first. */
const maxFailures = 1000;

/** How often a failure that comes now was left out before its line; undefined: this is left out too. And what is known of it then. */
export function nextRepetition(
  known: Repetition | undefined,
  now: number,
  intervalMs = firstIntervalMs,
): { repeated: number | undefined; repetition: Repetition } {
  const isNew = known === undefined || now - known.seenAt > Math.max(quietMs, 2 * known.intervalMs);
  if (isNew) return { repeated: 0, repetition: told(intervalMs, now) };
  if (now - known.toldAt < known.intervalMs) {
    return { repeated: undefined, repetition: { ...known, seenAt: now, untold: known.untold + 1 } };
  }
  const nextMs = Math.min(2 * known.intervalMs, longestIntervalMs);
  return { repeated: known.untold, repetition: told(nextMs, now) };
}

const told = (intervalMs: number, now: number): Repetition => ({ intervalMs, toldAt: now, seenAt: now, untold: 0 });

/**
 * A log that has a line for a failure when it comes first, and then after 10 s, 20 s, 40 s and so on up to an hour, with the
 * number of those left out as `repeated`. Failures are warnings, errors, and what is told of a back-off. Errors that are no
 * bugs are told without their stack.
 */
export function withGrowingIntervals(logger: Logger, clock: Clock): Logger {
  return limited(logger, { clock, failures: new Map(), bindings: '', intervalMs: firstIntervalMs });
}

/** A log that has a line for a failure when it comes first, and none after that. */
export function eachFailureOnce(logger: Logger, clock: Clock = systemClock): Logger {
  return limited(logger, { clock, failures: new Map(), bindings: '', intervalMs: Infinity });
}

interface Limits {
  clock: Clock;
  /** By what makes two of them the same; the newest last. */
  failures: Map<string, Repetition>;
  /** Of a child logger. */
  bindings: string;
  /** Until the second line. */
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

/** How often the same was left out since its last line; undefined: this is left out too. */
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

/** Said of each try of something that fails. */
const isRepeated = ({ reason }: Record<string, unknown>): boolean => repeatedReasons.includes(reason);

/** What two entries about the same failure have in common: ids, times and large numbers differ from try to try. */
function sameness({ facts, message = '' }: Entry): string {
  const lasting = Object.entries(facts).filter(([name]) => !/(Ms|At|Seconds)$/.test(name));
  const texts = lasting.map(([name, value]) => [name, name === 'err' ? withoutIds(errorText(value)) : value]);
  return `${withoutIds(message)} ${JSON.stringify(texts)}`;
}

const errorText = (value: unknown): string => (value instanceof Error ? value.message : String(value));

const ids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{12,}|\d+(?:\.\d+)?(?:ms|µs|[smh])\b|\d{5,}/g;
const withoutIds = (text: string): string => text.replaceAll(ids, '#');

/** Errors of the language, of which we throw none on purpose, and such as nobody gave a name. */
const bugs: readonly string[] = ['Error', 'TypeError', 'RangeError', 'ReferenceError', 'SyntaxError', 'AssertionError'];

/** A stack is for bugs: what the machine, the runtime or the user did wrong is told in a line. */
function shown(facts: unknown): Record<string, unknown> {
  const { err, ...others } = facts as Record<string, unknown>;
  if (err === undefined) return others;
  const isExpected = err instanceof Error && ('syscall' in err || !bugs.includes(err.name));
  return { ...others, err: isExpected ? err.message : err };
}

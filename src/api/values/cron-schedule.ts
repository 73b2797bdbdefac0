import { Cron } from 'croner';
import { parseDuration } from './duration.ts';

/** When a CronJob runs. All times are milliseconds since the epoch. */
export interface CronSchedule {
  /** Returns the first run after a time. Returns undefined if the schedule never runs, as on 30 February. */
  next(after: number): number | undefined;
  /** Returns the last run in the period from `after` (excluded) to `until`. Returns undefined if none is due in it. */
  newest(after: number, until: number): number | undefined;
}

/**
 * Parses a valid schedule. Without a time zone it follows that of the machine. A run in the hour that summer time skips
 * is due when the hour is over, and a run in the hour that occurs twice is due once: each night has its run. In
 * Kubernetes it has none, or two.
 */
export function parseCronSchedule(text: string, timeZone?: string): CronSchedule {
  const periodMs = everyMs(text);
  if (periodMs !== undefined) return everySchedule(periodMs);
  // No year has this date, so a search for it would take long.
  if (isImpossible(text)) return { next: () => undefined, newest: () => undefined };
  const cron = newCron(text, timeZone);
  return {
    next: (after) => cron.nextRun(new Date(after))?.getTime(),
    newest: (after, until) => {
      // The library looks for runs before a time.
      const [newest] = cron.previousRuns(1, new Date(until + 1));
      return newest !== undefined && newest.getTime() > after ? newest.getTime() : undefined;
    },
  };
}

/**
 * Checks the schedule of a CronJob. Returns the error, or undefined if it is valid. By hand, because the library
 * accepts what no cluster does, such as `L`, and its errors name wrong numbers. kubelet: robfig/cron parser.go
 * ParseStandard
 */
export function checkCronSchedule(schedule: string): string | undefined {
  if (schedule.includes('TZ=')) return 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead';
  if (schedule.startsWith('@every ')) {
    return everyMs(schedule) === undefined ? 'needs a duration such as 1h30m after @every' : undefined;
  }
  if (schedule.startsWith('@')) {
    return descriptors.includes(schedule) ? undefined : `must be one of ${descriptors.join(', ')} or @every`;
  }
  const fields = schedule.split(/\s+/).filter((field) => field !== '');
  if (fields.length !== cronFields.length) {
    return `must have 5 fields (minute, hour, day of month, month, day of week), not ${fields.length}`;
  }
  for (const [index, field] of cronFields.entries()) {
    const text = fields[index] ?? '';
    if (!text.split(',').every((part) => isRange(part, field))) {
      return `the ${field.name} "${text}" must be within ${field.min}-${field.max}`;
    }
  }
  return undefined;
}

/** Checks the time zone of a CronJob. Returns the error, or undefined if this machine knows the zone. */
export function checkTimeZone(timeZone: string): string | undefined {
  const isName = !/^(?:local$|[+-])/i.test(timeZone);
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    if (isName) return undefined;
  } catch {
    // This machine does not know it.
  }
  return isName ? 'unknown time zone' : 'must be the name of a time zone';
}

const descriptors = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];

interface CronField {
  name: string;
  min: number;
  max: number;
  /** Words for the numbers from `min` on. */
  words: readonly string[];
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const cronFields: readonly CronField[] = [
  { name: 'minute', min: 0, max: 59, words: [] },
  { name: 'hour', min: 0, max: 23, words: [] },
  { name: 'day of month', min: 1, max: 31, words: [] },
  { name: 'month', min: 1, max: 12, words: months },
  { name: 'day of week', min: 0, max: 6, words: weekdays },
];

/** True for `*`, `5`, `1-5` or `mon-fri`, optionally with a step after a slash. */
function isRange(text: string, field: CronField): boolean {
  const match = /^(?:[*?]|(\w+)(?:-(\w+))?)(?:\/([0-9]{1,9}))?$/.exec(text);
  if (!match) return false;
  const [, first, last, step] = match;
  if (step !== undefined && (Number(step) === 0 || Number(step) > field.max - field.min + 1)) return false;
  if (first === undefined) return true;
  const start = numberOf(first, field);
  const end = last === undefined ? start : numberOf(last, field);
  return start >= field.min && end <= field.max && start <= end;
}

/** True for a date that no year has, such as 31 February. A day of the week makes any of them possible. */
function isImpossible(schedule: string): boolean {
  const [, , days = '', monthsOfRuns = '', weekdaysOfRuns = ''] = schedule.trim().split(/\s+/);
  if (schedule.startsWith('@') || !/^[*?](?:\/0*1)?$/.test(weekdaysOfRuns)) return false;
  const [dayField, monthField] = [cronFields[2], cronFields[3]];
  if (dayField === undefined || monthField === undefined) return false;
  const firstDay = Math.min(...valuesOf(days, dayField));
  return valuesOf(monthsOfRuns, monthField).every((month) => firstDay > new Date(2000, month, 0).getDate());
}

/** Returns the numbers that a valid field names. */
function valuesOf(text: string, field: CronField): number[] {
  return text.split(',').flatMap((part) => {
    const [range = '', step] = part.split('/');
    const [first = '', last] = range.split('-');
    const isStar = first === '*' || first === '?';
    const start = isStar ? field.min : numberOf(first, field);
    const end = last !== undefined ? numberOf(last, field) : isStar || step !== undefined ? field.max : start;
    const every = Number(step ?? 1);
    return Array.from({ length: Math.floor((end - start) / every) + 1 }, (_, index) => start + index * every);
  });
}

/** Returns NaN if the text is neither a number nor a known word. */
function numberOf(text: string, { min, words }: CronField): number {
  const index = words.indexOf(text.toLowerCase());
  if (index >= 0) return min + index;
  return /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN;
}

function newCron(schedule: string, timeZone?: string): Cron {
  // A step of one is a star: of two restricted days either counts, and a star restricts nothing.
  const written = schedule.trim().replace(/[*?](?:\/0*1(?![0-9]))?/g, '*');
  // `sloppyRanges` allows 5/15, which begins at 5.
  return new Cron(written, {
    mode: '5-part',
    sloppyRanges: true,
    ...(timeZone !== undefined && { timezone: timeZone }),
  });
}

/** A run is named by its minute, so that a shorter period would name two runs alike. */
const minPeriodMs = 60_000;

/** Returns the period of `@every 1h30m`. Returns undefined if this is another schedule or no positive duration. */
function everyMs(schedule: string): number | undefined {
  const [, text] = /^@every (.*)$/.exec(schedule) ?? [];
  const duration = text === undefined ? undefined : parseDuration(text);
  if (duration === undefined || duration <= 0n) return undefined;
  return Math.max(Number(duration / 1_000_000_000n) * 1000, minPeriodMs);
}

/** Runs follow the last one, as whole seconds. */
function everySchedule(periodMs: number): CronSchedule {
  const wholeSecond = (time: number): number => Math.floor(time / 1000) * 1000;
  return {
    next: (after) => wholeSecond(after) + periodMs,
    newest: (after, until) => {
      const periods = Math.floor((until - wholeSecond(after)) / periodMs);
      return periods >= 1 ? wholeSecond(after) + periods * periodMs : undefined;
    },
  };
}

import { parseDuration } from './duration.ts';

/**
 * Checks the schedule of a CronJob. Returns the error, or undefined if it is valid. kubelet: robfig/cron parser.go
 * ParseStandard
 */
export function checkCronSchedule(schedule: string): string | undefined {
  if (schedule.includes('TZ=')) return 'must not name a time zone: timeZone does';
  const every = /^@every (.*)$/.exec(schedule);
  if (every) return isPositiveDuration(every[1] ?? '') ? undefined : 'needs a duration such as 1h30m after @every';
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
  if (step !== undefined && Number(step) === 0) return false;
  if (first === undefined) return true;
  const start = numberOf(first, field);
  const end = last === undefined ? start : numberOf(last, field);
  return start >= field.min && end <= field.max && start <= end;
}

/** Returns NaN if the text is neither a number nor a known word. */
function numberOf(text: string, { min, words }: CronField): number {
  const index = words.indexOf(text.toLowerCase());
  if (index >= 0) return min + index;
  return /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN;
}

function isPositiveDuration(text: string): boolean {
  const duration = parseDuration(text);
  return duration !== undefined && duration > 0n;
}

import { parseDuration } from './duration.ts';
import type { Pod } from '../types.ts';
import { type FieldError, FieldErrors } from './field-errors.ts';

/** How long a new revision may take to be Ready before the last one that was Ready runs again. A Go duration. */
const deadlineAnnotation = 'kubelet-ts.io/progress-deadline';
/** When new revisions are applied: `[DAY[,DAY…]] HH:MM-HH:MM` in local time. The end may be on the next day. */
const windowAnnotation = 'kubelet-ts.io/update-window';
/** No new revision is applied while this path exists. */
const lockAnnotation = 'kubelet-ts.io/update-lock';

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const dayMinutes = 24 * 60;

interface UpdateWindow {
  /** Days on which it starts; 0 is Sunday. */
  days: readonly number[];
  /** Minutes of the day. */
  from: number;
  to: number;
}

/** Milliseconds. Returns undefined if a revision may take any time. */
export function progressDeadlineMs({ metadata }: Pod): number | undefined {
  const nanoseconds = parseDuration(metadata.annotations?.[deadlineAnnotation]?.trim() ?? '');
  return nanoseconds === undefined ? undefined : Number(nanoseconds / 1_000_000n);
}

/** Path of the pod's lock file. Returns undefined if it has none. */
export function updateLock({ metadata }: Pod): string | undefined {
  return metadata.annotations?.[lockAnnotation];
}

/** The pod's window as written. Returns undefined if updates are applied at any time. */
export function updateWindow({ metadata }: Pod): string | undefined {
  return metadata.annotations?.[windowAnnotation];
}

/** True if the window is open at this local time. `day` is 0 for Sunday, `minute` is of the day. */
export function isWindowOpen(text: string, { day, minute }: { day: number; minute: number }): boolean {
  const window = parseWindow(text);
  if (window === undefined) return true;
  const { from, to } = window;
  const isDay = (which: number): boolean => window.days.includes((which + 7) % 7);
  if (from < to) return isDay(day) && minute >= from && minute < to;
  // It ends on the next day.
  return (isDay(day) && minute >= from) || (isDay(day - 1) && minute < to);
}

/** The next local time at which the window opens, after `now`. Returns undefined if the text is not a window. */
export function nextOpening(text: string, now: Date): Date | undefined {
  const window = parseWindow(text);
  if (window === undefined) return undefined;
  const [year, month, date] = [now.getFullYear(), now.getMonth(), now.getDate()];
  // A week later the same weekday returns.
  const openings = Array.from({ length: 8 }, (_, days) => new Date(year, month, date + days, 0, window.from));
  return openings.find((opening) => opening > now && window.days.includes(opening.getDay()));
}

/** Errors in the annotations of a pod. */
export function validateUpdateAnnotations(pod: Pod): FieldError[] {
  const errors = new FieldErrors();
  const invalid = (annotation: string, text: string, message: string, hint: string): void => {
    errors.invalid(`metadata.annotations[${annotation}]`, text, message, hint);
  };
  const deadline = pod.metadata.annotations?.[deadlineAnnotation];
  if (deadline !== undefined && (progressDeadlineMs(pod) ?? 0) < 1000) {
    invalid(deadlineAnnotation, deadline, 'must be a duration of at least 1s', 'Such as "2m".');
  }
  const window = updateWindow(pod);
  if (window !== undefined && parseWindow(window) === undefined) {
    invalid(
      windowAnnotation,
      window,
      'must be a time of the day, with or without days',
      'Such as "Sat,Sun 02:00-04:00".',
    );
  }
  const lock = updateLock(pod);
  if (lock !== undefined && !lock.startsWith('/')) {
    invalid(lockAnnotation, lock, 'must be an absolute path', 'Such as "/run/updates.lock".');
  }
  return errors.list;
}

/** Returns undefined if the text is not a window. */
function parseWindow(text: string): UpdateWindow | undefined {
  const match = /^(?:([A-Za-z,]+) +)?(\d\d):(\d\d)-(\d\d):(\d\d)$/.exec(text.trim());
  if (match === null) return undefined;
  const [, names, fromHour, fromMinute, toHour, toMinute] = match;
  const numbers =
    names === undefined ? days.map((_day, index) => index) : names.split(',').map((day) => days.indexOf(day));
  const [from, to] = [minuteOf(fromHour, fromMinute), minuteOf(toHour, toMinute)];
  const isValid = !numbers.includes(-1) && from < dayMinutes && to <= dayMinutes && from !== to;
  return isValid && Number(fromMinute) < 60 && Number(toMinute) < 60 ? { days: numbers, from, to } : undefined;
}

const minuteOf = (hour = '', minute = ''): number => Number(hour) * 60 + Number(minute);

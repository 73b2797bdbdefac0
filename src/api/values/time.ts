/** True for a time that Go's `time.Parse(time.RFC3339, …)` accepts. */
export function isRfc3339Time(text: string): boolean {
  return parseRfc3339Ms(text) !== undefined;
}

/** An RFC 3339 time as Kubernetes writes it: in UTC, whole seconds. */
export function canonicalTime(text: string): string {
  const at = parseRfc3339Ms(text);
  return at === undefined ? text : formatTime(at);
}

/** Go accepts an hour with one digit, but no other one-digit number. */
const pattern = /^(\d{4})-(\d\d)-(\d\d)T(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|[-+](\d\d):(\d\d))$/;

/**
 * Whole milliseconds since the epoch of a time in RFC 3339. Undefined for a text that Go refuses. Go accepts zones that
 * `Date` does not know, such as +24:00.
 */
export function parseRfc3339Ms(text: string): number | undefined {
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', zoneHour = '0', zoneMinute = '0'] = match;
  const written = new Date(0);
  written.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  written.setUTCHours(Number(hour), Number(minute), Number(second));
  // Date moves 31 February to March; such a time does not exist.
  const rendered = `${text.replace(/T(?=\d:)/, 'T0').slice(0, 19)}.000Z`;
  if (written.toISOString() !== rendered || Number(zoneHour) > 24 || Number(zoneMinute) > 60) return undefined;
  const sign = text.at(-6) === '+' ? 1 : -1;
  const offsetMs = text.endsWith('Z') ? 0 : sign * (Number(zoneHour) * 60 + Number(zoneMinute)) * 60_000;
  return written.getTime() - offsetMs + Number(fraction.slice(0, 3).padEnd(3, '0'));
}

/** RFC 3339 in UTC with whole seconds, as the Kubernetes API writes times. `at` is in milliseconds since the epoch. */
export function formatTime(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
}

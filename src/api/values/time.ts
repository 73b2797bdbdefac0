/** True for a time that Go's `time.Parse(time.RFC3339, …)` accepts. */
export function isRfc3339Time(text: string): boolean {
  return toUtcSeconds(text) !== undefined;
}

/** An RFC 3339 time as Kubernetes writes it: in UTC, whole seconds. */
export function canonicalTime(text: string): string {
  return toUtcSeconds(text) ?? text;
}

const pattern = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,]\d+)?(?:Z|[-+](\d\d):(\d\d))$/;

function toUtcSeconds(text: string): string | undefined {
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [year, month, day, hour, minute, second, zoneHour = 0, zoneMinute = 0] = match
    .slice(1)
    .map((part: string | undefined) => Number(part ?? 0));
  const written = new Date(0);
  written.setUTCFullYear(year ?? 0, (month ?? 0) - 1, day);
  written.setUTCHours(hour ?? 0, minute, second);
  // Date moves 31 February to March; such a time does not exist.
  const rendered = `${text.slice(0, 19)}.000Z`;
  if (written.toISOString() !== rendered || zoneHour > 24 || zoneMinute > 60) return undefined;
  const sign = text.at(-6) === '+' ? 1 : -1;
  const offsetMs = text.endsWith('Z') ? 0 : sign * (zoneHour * 60 + zoneMinute) * 60_000;
  return new Date(written.getTime() - offsetMs).toISOString().replace('.000Z', 'Z');
}

/** RFC 3339 in UTC with whole seconds, as the Kubernetes API writes times. `at` is in milliseconds since the epoch. */
export function formatTime(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
}

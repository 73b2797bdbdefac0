import { expect, test } from 'vitest';
import { plausibleStartTime } from '../../../src/engine/status/plausible-start-time.ts';

const now = Date.parse('2026-11-29T12:00:00Z');
const since = (): number => 60_000;

test.each([
  ['a start before the clock was set', '1970-01-01T00:00:09Z', now, '2026-11-29T11:59:00Z'],
  ['a start while it is still not set', '1970-01-01T00:00:09Z', 20_000, '1970-01-01T00:00:09Z'],
  ['a start before the clock was set back', '2026-11-29T13:00:00Z', now, '2026-11-29T11:59:00Z'],
  ['a start on a clock that is slightly ahead', '2026-11-29T12:00:01Z', now, '2026-11-29T12:00:01Z'],
  ['any other start', '2026-03-01T00:00:00Z', now, '2026-03-01T00:00:00Z'],
])('%s', (_, startTime, at, shown) => {
  expect(plausibleStartTime(startTime, { now: at, since })).toBe(shown);
});

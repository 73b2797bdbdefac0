import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkCronSchedule, checkTimeZone, parseCronSchedule } from '../../../src/api/values/cron-schedule.ts';
import { propertyRuns } from '../../support/property-runs.ts';

test.each([
  '* * * * *',
  '*/5 0-23/2 1,15 jan-DEC mon-fri',
  '0 0 ? 12 6',
  '  0   0 1 1 0 ',
  '0,30 * * * SUN',
  '5/15 * * * *',
  '@hourly',
  '@midnight',
  '@every 1h30m',
])('%j is a schedule', (schedule) => {
  expect(checkCronSchedule(schedule)).toBeUndefined();
});

test.each([
  ['', 'must have 5 fields (minute, hour, day of month, month, day of week), not 0'],
  ['* * * * * *', 'must have 5 fields (minute, hour, day of month, month, day of week), not 6'],
  ['60 * * * *', 'the minute "60" must be within 0-59'],
  ['* 24 * * *', 'the hour "24" must be within 0-23'],
  ['* * 0 * *', 'the day of month "0" must be within 1-31'],
  ['* * * 13 *', 'the month "13" must be within 1-12'],
  ['* * * * 7', 'the day of week "7" must be within 0-6'],
  ['* * * * fri-mon', 'the day of week "fri-mon" must be within 0-6'],
  ['*/0 * * * *', 'the minute "*/0" must be within 0-59'],
  ['*/90 * * * *', 'the minute "*/90" must be within 0-59'],
  ['1, * * * *', 'the minute "1," must be within 0-59'],
  ['-5 * * * *', 'the minute "-5" must be within 0-59'],
  ['jan * * * *', 'the minute "jan" must be within 0-59'],
  ['0 0 L * *', 'the day of month "L" must be within 1-31'],
  ['0 0 * * 5#2', 'the day of week "5#2" must be within 0-6'],
  ['@noon', 'must be one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly or @every'],
  ['@every', 'must be one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly or @every'],
  ['@every day', 'needs a duration such as 1h30m after @every'],
  ['@every -1h', 'needs a duration such as 1h30m after @every'],
  ['TZ=UTC * * * * *', 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead'],
])('%j is not a schedule: it %s', (schedule, message) => {
  expect(checkCronSchedule(schedule)).toBe(message);
});

test.each([
  ['Europe/Berlin', undefined],
  ['Etc/UTC', undefined],
  ['Mars/Olympus', 'unknown time zone'],
  ['Local', 'must be the name of a time zone'],
  ['+02:00', 'must be the name of a time zone'],
])('the time zone %j: %s', (timeZone, message) => {
  expect(checkTimeZone(timeZone)).toBe(message);
});

test.each([
  ['0 0 31 2 *', true],
  ['0 0 30-31 feb ?', true],
  ['*/5 * 31 2,4,7-11/5 */1', false],
  ['* * 31 4-6/2,9,nov *', true],
  ['0 0 29 2 *', false],
  ['0 0 31 2 1', false],
  ['0 0 */30 2 *', false],
  ['0 0 31 */2 *', false],
  ['0 0 15/16 2 *', false],
  ['@every 1h', false],
])('the dates of %j are impossible: %s, which is found without a search', (schedule, isImpossible) => {
  const parsed = parseCronSchedule(schedule, 'Europe/Berlin');
  const now = Date.parse('2026-11-29T12:00Z');
  expect([parsed.next(now) === undefined, parsed.newest(0, now) === undefined]).toEqual([isImpossible, isImpossible]);
});

describe('runs', () => {
  const runs = (schedule: string, from: string, count: number, timeZone = 'Etc/UTC'): string[] => {
    const parsed = parseCronSchedule(schedule, timeZone);
    let at = Date.parse(`${from}Z`);
    return Array.from({ length: count }, () => {
      at = parsed.next(at) ?? Number.NaN;
      return new Date(at).toISOString().slice(0, 16);
    });
  };

  test.each([
    ['*/20 * * * *', ['2026-11-29T12:20', '2026-11-29T12:40', '2026-11-29T13:00']],
    ['5/25 * * * *', ['2026-11-29T12:05', '2026-11-29T12:30', '2026-11-29T12:55']],
    ['@daily', ['2026-11-30T00:00', '2026-12-01T00:00', '2026-12-02T00:00']],
    ['@every 90m', ['2026-11-29T13:30', '2026-11-29T15:00', '2026-11-29T16:30']],
    ['@every 1s', ['2026-11-29T12:01', '2026-11-29T12:02', '2026-11-29T12:03']],
    ['0 22 * * mon-wed', ['2026-11-30T22:00', '2026-12-01T22:00', '2026-12-02T22:00']],
    // Either day counts.
    ['0 0 13 * fri', ['2026-12-04T00:00', '2026-12-11T00:00', '2026-12-13T00:00']],
    // A star restricts nothing, even with a step of one.
    ['0 0 */1 * mon', ['2026-11-30T00:00', '2026-12-07T00:00', '2026-12-14T00:00']],
    ['0 0 29 feb ?', ['2028-02-29T00:00', '2032-02-29T00:00', '2036-02-29T00:00']],
  ])('of %j', (schedule, expected) => {
    expect(runs(schedule, '2026-11-29T12:00:00', 3)).toEqual(expected);
  });

  test('a night without its hour has its run afterwards', () => {
    expect(runs('30 2 * * *', '2026-03-07T12:00:00', 2, 'America/New_York')).toEqual([
      '2026-03-08T07:00',
      '2026-03-09T06:30',
    ]);
  });

  test('a night with its hour twice has one run', () => {
    expect(runs('30 1 * * *', '2026-10-31T12:00:00', 2, 'America/New_York')).toEqual([
      '2026-11-01T05:30',
      '2026-11-02T06:30',
    ]);
  });

  test('runs of every hour continue in both', () => {
    expect(runs('0 * * * *', '2026-11-01T04:30:00', 3, 'America/New_York')).toEqual([
      '2026-11-01T05:00',
      '2026-11-01T06:00',
      '2026-11-01T07:00',
    ]);
  });

  test('the library parses whatever is valid', () => {
    const number = (min: number, max: number): fc.Arbitrary<string> => fc.integer({ min, max }).map(String);
    const field = (min: number, max: number, names: readonly string[]): fc.Arbitrary<string> => {
      const value = fc.oneof(number(min, max), fc.constantFrom(...names, String(min)));
      const range = fc.oneof(
        fc.constantFrom('*', '?'),
        value,
        fc.tuple(value, value).map(([a, b]) => `${a}-${b}`),
      );
      const part = fc.oneof(
        range,
        fc.tuple(range, number(0, max + 2)).map(([a, step]) => `${a}/${step}`),
      );
      return fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(','));
    };
    const schedule = fc
      .tuple(
        field(0, 59, []),
        field(0, 23, []),
        field(1, 31, []),
        field(1, 12, ['Feb', 'dec']),
        field(0, 6, ['sun', 'FRI']),
      )
      .map((fields) => fields.join(' '))
      .filter((text) => checkCronSchedule(text) === undefined);
    fc.assert(
      fc.property(schedule, (text) => {
        const parsed = parseCronSchedule(text, 'Etc/UTC');
        const next = parsed.next(Date.UTC(2026, 10, 29));
        if (next !== undefined) expect(parsed.newest(next - 1, next)).toBe(next);
      }),
      propertyRuns(300),
    );
  });

  test('of a day that never comes do not exist', () => {
    expect(parseCronSchedule('0 0 30 2 *').next(0)).toBeUndefined();
  });

  test.each([
    ['*/5 * * * *', '12:00', '12:05', '12:05'],
    ['*/5 * * * *', '12:00', '12:04', undefined],
    ['*/5 * * * *', '12:05', '12:05', undefined],
    ['*/5 * * * *', '08:00', '12:14', '12:10'],
    ['@every 30m', '12:10', '14:00', '13:40'],
    ['@every 30m', '12:10', '12:39', undefined],
    ['@every 30m', '14:00', '12:00', undefined],
  ])('the newest of %j after %s until %s is %s', (schedule, after, until, expected) => {
    const at = (time: string): number => Date.parse(`2026-11-29T${time}:00Z`);
    const newest = parseCronSchedule(schedule, 'Etc/UTC').newest(at(after), at(until));
    expect(newest).toBe(expected === undefined ? undefined : at(expected));
  });
});

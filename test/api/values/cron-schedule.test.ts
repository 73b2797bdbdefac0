import { expect, test } from 'vitest';
import { checkCronSchedule } from '../../../src/api/values/cron-schedule.ts';

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
  ['1, * * * *', 'the minute "1," must be within 0-59'],
  ['-5 * * * *', 'the minute "-5" must be within 0-59'],
  ['jan * * * *', 'the minute "jan" must be within 0-59'],
  ['@noon', 'must be one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly or @every'],
  ['@every', 'must be one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly or @every'],
  ['@every day', 'needs a duration such as 1h30m after @every'],
  ['@every -1h', 'needs a duration such as 1h30m after @every'],
  ['TZ=UTC * * * * *', 'must not name a time zone: timeZone does'],
])('%j is no schedule: it %s', (schedule, message) => {
  expect(checkCronSchedule(schedule)).toBe(message);
});

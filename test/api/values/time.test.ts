import { expect, test } from 'vitest';
import { canonicalTime, isRfc3339Time, parseRfc3339Ms } from '../../../src/api/values/time.ts';

test.each([
  ['2024-01-02T03:04:05Z', '2024-01-02T03:04:05.000Z'],
  ['2024-01-02T03:04:05.5Z', '2024-01-02T03:04:05.500Z'],
  ['2024-01-02T03:04:05,123999Z', '2024-01-02T03:04:05.123Z'],
  ['2024-01-02T03:04:05.001+02:30', '2024-01-02T00:34:05.001Z'],
  ['2024-01-02T03:04:05-00:30', '2024-01-02T03:34:05.000Z'],
  ['2024-01-02T03:04:05+24:00', '2024-01-01T03:04:05.000Z'],
  ['2024-01-02T03:04:05.25+01:60', '2024-01-02T01:04:05.250Z'],
  ['1969-12-31T23:59:59.75Z', '1969-12-31T23:59:59.750Z'],
])('the time %s is %s', (text, expected) => {
  const at = parseRfc3339Ms(text) ?? NaN;
  expect(new Date(at).toISOString()).toBe(expected);
  expect(canonicalTime(text)).toBe(`${expected.slice(0, 19)}Z`);
});

test.each([
  ...['', 'x', '2024-01-02', '2024-01-02T03:04:05', '2024-01-02T03:04:05.Z', '2024-02-30T03:04:05Z'],
  ...['2024-01-02T24:00:00Z', '2024-01-02T03:04:60Z', '2024-01-02T03:04:05+25:00', '2024-01-02T03:04:05+01:61'],
])('%j is no time', (text) => {
  expect([parseRfc3339Ms(text), isRfc3339Time(text), canonicalTime(text)]).toEqual([undefined, false, text]);
});

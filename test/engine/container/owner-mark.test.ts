import { expect, test } from 'vitest';
import { ownerOf, withOwner } from '../../../src/engine/container/owner-mark.ts';

const seen = 'kubernetes.io/config.seen';
const owner = '012345678901234567';

test.each([
  ['2026-01-02T03:04:05.678000000Z', `2026-01-02T03:04:05.678000000${owner}Z`],
  ['2026-01-02T03:04:05.678Z', `2026-01-02T03:04:05.678000000${owner}Z`],
  ['2026-01-02T03:04:05Z', `2026-01-02T03:04:05.000000000${owner}Z`],
  ['2026-01-02T03:04:05.123456789+02:00', `2026-01-02T03:04:05.123456789${owner}+02:00`],
  // Marked already, by this owner or another one.
  [`2026-01-02T03:04:05.678000000${'9'.repeat(18)}Z`, `2026-01-02T03:04:05.678000000${owner}Z`],
  ['yesterday', `1970-01-01T00:00:00.000000000${owner}Z`],
])('the owner stands behind the nine digits of %s', (time, marked) => {
  const config = { hostname: 'web', annotations: { a: 'b', [seen]: time } };
  const { annotations, ...others } = withOwner(config, owner);
  expect({ annotations, others }).toEqual({ annotations: { a: 'b', [seen]: marked }, others: { hostname: 'web' } });
  expect(ownerOf(annotations ?? {})).toBe(owner);
});

test('a sandbox that says not when it was seen gets an owner too', () => {
  expect(ownerOf(withOwner({}, owner).annotations ?? {})).toBe(owner);
});

test('the time is the same for who reads it', () => {
  const { annotations } = withOwner({ annotations: { [seen]: '2026-01-02T03:04:05.678000000Z' } }, owner);
  expect(Date.parse(annotations?.[seen] ?? '')).toBe(Date.parse('2026-01-02T03:04:05.678Z'));
});

test.each([
  {},
  { [seen]: '2026-01-02T03:04:05.123456789Z' },
  { [seen]: '2026-01-02T03:04:05Z' },
  { [seen]: '' },
  { [seen]: `2026-01-02T03:04:05.123456789${owner}0Z` },
])('sandboxes of a kubelet, or of a release without owners, have none: %j', (annotations) => {
  expect(ownerOf(annotations)).toBeUndefined();
});

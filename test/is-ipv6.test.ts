import { expect, test } from 'vitest';
import { isIPv6 } from '../src/is-ipv6.ts';

test.each([
  ['::1', true],
  ['2001:db8::ffff', true],
  ['::ffff:10.9.8.7', true],
  ['fe80::1%eth0', true],
  ['10.9.8.7', false],
  ['', false],
  ['a:b', false],
])('%s is an IPv6 address: %s', (text, expected) => {
  expect(isIPv6(text)).toBe(expected);
});

import { expect, test } from 'vitest';
import { canonicalIP, isIPv6Address } from '../../../src/engine/network/ip-address.ts';

test.each([
  ['10.0.0.1', '10.0.0.1'],
  ['010.0.0.001', '10.0.0.1'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['::FFFF:a00:1', '10.0.0.1'],
  ['2001:DB8:0:0::1', '2001:db8::1'],
  ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
  ['::', '::'],
  ['fe80::1%eth0', undefined],
  ['10.0.0', undefined],
  ['10.0.0.256', undefined],
  ['dns.example', undefined],
  ['', undefined],
])('the address %j is written as %j', (text, expected) => {
  expect(canonicalIP(text)).toEqual(expected);
});

test('an IPv4 address in the form of an IPv6 one is none of that family', () => {
  expect(['::ffff:10.0.0.1', '10.0.0.1', '2001:db8::1', 'dns.example'].map(isIPv6Address)).toEqual([
    false,
    false,
    true,
    false,
  ]);
});

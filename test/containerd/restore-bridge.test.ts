import { expect, test } from 'vitest';
import { gatewayOf } from '../../src/containerd/restore-bridge.ts';

test.each([
  ['10.222.0.0/24', '10.222.0.1/24'],
  ['10.50.0.64/26', '10.50.0.65/26'],
  ['fd00:50::/64', 'fd00:50::1/64'],
])('the bridge of %s has the address %s', (subnet, gateway) => {
  expect(gatewayOf(subnet)).toBe(gateway);
});

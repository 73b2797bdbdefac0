import { expect, test } from 'vitest';
import { parsePodCIDR } from '../../src/containerd/pod-cidr.ts';

test.each([
  ['', {}],
  ['10.50.0.0/24', { ipv4: '10.50.0.0/24' }],
  ['10.50.0.7/16', { ipv4: '10.50.0.0/16' }],
  ['fd00:50::/64,10.50.0.0/24', { ipv4: '10.50.0.0/24', ipv6: 'fd00:50::/64' }],
])('reads --pod-cidr "%s"', (text, expected) => {
  expect(parsePodCIDR(text)).toEqual(expected);
});

test.each([
  ['10.50.0.0', '--pod-cidr 10.50.0.0: "10.50.0.0" is not a subnet for pods'],
  ['10.50.0.0/31', '--pod-cidr 10.50.0.0/31: "10.50.0.0/31" is not a subnet for pods'],
  ['fd00::1/64', '--pod-cidr fd00::1/64: "fd00::1/64" is not a subnet for pods'],
  ['10.50.0.0/24,10.51.0.0/24', '--pod-cidr 10.50.0.0/24,10.51.0.0/24: give one subnet of each family'],
])('refuses --pod-cidr "%s"', (text, message) => {
  expect(() => parsePodCIDR(text)).toThrow(message);
});

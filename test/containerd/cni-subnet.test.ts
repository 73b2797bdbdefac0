import { expect, test } from 'vitest';
import { computeFreeSubnet, formatSubnet, parseRoutes, type Subnet } from '../../src/containerd/cni-subnet.ts';

const route = (text: string): Subnet => {
  const [address = '', prefixLength] = text.split('/');
  const number = address.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0);
  return { address: number, prefixLength: Number(prefixLength) };
};

test.each([
  ['nothing but a default route', ['0.0.0.0/0'], '10.222.0.0/24'],
  ["a VPN's two halves of everything", ['0.0.0.0/1', '128.0.0.0/1'], '10.222.0.0/24'],
  ['the first choice in use', ['10.222.0.0/24'], '10.222.1.0/24'],
  ['a host in the first choice', ['10.222.0.7/32'], '10.222.1.0/24'],
  ['all of 10/8 in use', ['10.0.0.0/8'], '192.168.200.0/24'],
  ['10/8 and 192.168/16 in use', ['10.0.0.0/8', '192.168.0.0/16'], '172.16.0.0/24'],
  [
    'all private blocks routed away',
    ['10.0.0.0/8', '192.168.0.0/16', '172.16.0.0/12', '10.222.0.0/24'],
    '10.222.1.0/24',
  ],
])('with %s', (_, routes, expected) => {
  const subnet = computeFreeSubnet(routes.map(route));
  expect(subnet && formatSubnet(subnet)).toBe(expected);
});

test('finds none if every choice has its own route', () => {
  expect(
    computeFreeSubnet([
      route('10.222.0.0/17'),
      route('10.222.128.0/17'),
      route('192.168.128.0/17'),
      route('172.16.0.0/17'),
      route('172.16.128.0/17'),
    ]),
  ).toBeUndefined();
});

test('reads the little-endian columns of /proc/net/route', () => {
  const text =
    'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT \n' +
    'eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0 \n' +
    'eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0 \n' +
    'tun0\t0000DE0A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0 \n';
  expect(parseRoutes(text).map(formatSubnet)).toEqual(['0.0.0.0/0', '192.0.2.0/24', '10.222.0.0/16']);
});

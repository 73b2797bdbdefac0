import type { NetworkInterfaceInfo } from 'node:os';
import { expect, test } from 'vitest';
import { detectNodeIPs } from '../../src/node/detect-node-ips.ts';

function address(ip: string, { internal = false, scopeid = 0 } = {}): NetworkInterfaceInfo {
  const rest = { address: ip, netmask: '', mac: '', internal, cidr: null };
  return ip.includes(':') ? { ...rest, family: 'IPv6', scopeid } : { ...rest, family: 'IPv4' };
}

const lo = [address('127.0.0.1', { internal: true }), address('::1', { internal: true })];
const linkLocal = address('fe80::1', { scopeid: 2 });

/** As the kernel writes it: name, destination, gateway, flags, references, uses, metric, mask … */
const route = (name: string, destination: string, metric: number, mask = destination): string =>
  [name, destination, '010200C0', '0003', '0', '0', String(metric), mask, '0', '0', '0'].join('\t');
const head = 'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT';
const routes = (...lines: string[]): string => [head, ...lines, ''].join('\n');

test.each([
  ['of the interface of the default route', routes(route('eth1', '00000000', 0)), '198.51.100.2'],
  [
    'of that with the lowest metric, of several',
    routes(route('eth0', '00000000', 200), route('eth1', '00000000', 100)),
    '198.51.100.2',
  ],
  [
    'of the first interface that is no bridge, without a default route',
    routes(route('eth1', '000200C0', 0)),
    '192.0.2.2',
  ],
  ['of the first interface, without any route', '', '192.0.2.2'],
])('the address of the node is that %s', (_what, text, ip) => {
  const interfaces = {
    lo,
    kts0: [address('10.222.0.1')],
    eth0: [linkLocal, address('169.254.7.7'), address('2001:db8::2'), address('192.0.2.2')],
    eth1: [address('198.51.100.2')],
  };
  expect(detectNodeIPs({ interfaces, routes: text, isBridge: (name) => name === 'kts0' })).toEqual([ip]);
});

test.each([
  ['one of IPv6 alone', { lo, eth0: [linkLocal, address('2001:db8::2')] }, '2001:db8::2'],
  ['127.0.0.1 where there is only loopback', { lo, eth0: [linkLocal] }, '127.0.0.1'],
])('the address of the node is %s', (_what, interfaces, ip) => {
  expect(detectNodeIPs({ interfaces, routes: '', isBridge: () => false })).toEqual([ip]);
});

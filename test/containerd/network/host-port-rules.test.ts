import { expect, test } from 'vitest';
import { bridgeRules } from '../../../src/containerd/network/bridge-rules.ts';
import { hostPortRules } from '../../../src/containerd/network/host-port-rules.ts';
import type { PortMapping } from '../../../src/containerd/network/networked-sandbox.ts';

const rulesFor = (mapping: Partial<PortMapping>, ips = ['10.222.0.5']): string[] =>
  hostPortRules([
    {
      id: 'c0ffee11',
      name: 'default/web',
      ips,
      portMappings: [{ protocol: 'tcp', containerPort: 80, hostPort: 8080, hostIP: '', ...mapping }],
    },
  ]).map(({ family, chain, text }) => `${family} ${chain} ${text.replace('-m comment --comment "default/web" ', '')}`);

test.each<[string, Partial<PortMapping>, string[] | undefined, string[]]>([
  [
    'TCP',
    {},
    undefined,
    ['IPv4 DNAT -m addrtype --dst-type LOCAL -p tcp -m tcp --dport 8080 -j DNAT --to-destination 10.222.0.5:80'],
  ],
  [
    'UDP, in a zone of the sandbox',
    { protocol: 'udp' },
    undefined,
    [
      'IPv4 DNAT -m addrtype --dst-type LOCAL -p udp -m udp --dport 8080 -j DNAT --to-destination 10.222.0.5:80',
      'IPv4 ZONE -m addrtype --dst-type LOCAL -p udp -m udp --dport 8080 -j CT --zone-orig 49407',
    ],
  ],
  [
    'both families',
    { protocol: 'sctp' },
    ['10.222.0.5', 'fd00::5'],
    [
      'IPv4 DNAT -m addrtype --dst-type LOCAL -p sctp -m sctp --dport 8080 -j DNAT --to-destination 10.222.0.5:80',
      'IPv6 DNAT ! -d ::1/128 -m addrtype --dst-type LOCAL -p sctp -m sctp --dport 8080 -j DNAT --to-destination [fd00::5]:80',
    ],
  ],
  [
    'one address of the node',
    { hostIP: '10.77.0.99' },
    ['10.222.0.5', 'fd00::5'],
    ['IPv4 DNAT -d 10.77.0.99 -p tcp -m tcp --dport 8080 -j DNAT --to-destination 10.222.0.5:80'],
  ],
  [
    'every IPv6 address of the node',
    { hostIP: '::' },
    ['10.222.0.5', 'fd00::5'],
    [
      'IPv6 DNAT ! -d ::1/128 -m addrtype --dst-type LOCAL -p tcp -m tcp --dport 8080 -j DNAT --to-destination [fd00::5]:80',
    ],
  ],
  ['no host port', { hostPort: 0 }, undefined, []],
  ['no name in place of an address', { hostIP: 'localhost' }, undefined, []],
  ['no address with a zone, which iptables does not know', { hostIP: 'fe80::1%eth0' }, ['fd00::5'], []],
  ['no text that would be more rules', { hostIP: '0.0.0.0/0 -j ACCEPT\n-A INPUT' }, undefined, []],
])('leads %s to a pod', (_, mapping, ips, expected) => {
  expect(rulesFor(mapping, ips)).toEqual(expected);
});

test('connects a bridge with others, in each family', () => {
  const rules = bridgeRules({ bridge: 'kts0ade00', subnets: ['10.222.0.0/24', 'fd00::/64'] });
  expect(rules.map(({ family, chain, text }) => `${family} ${chain} ${text}`)).toEqual([
    'IPv4 FORWARD -i kts0ade00 -j ACCEPT',
    'IPv4 FORWARD -o kts0ade00 -m conntrack --ctstate RELATED,ESTABLISHED,DNAT -j ACCEPT',
    'IPv4 SNAT -s 10.222.0.0/24 ! -d 224.0.0.0/4 ! -o kts0ade00 -j MASQUERADE',
    'IPv4 SNAT -s 10.222.0.0/24 -o kts0ade00 -m conntrack --ctstate DNAT -j MASQUERADE',
    'IPv4 INPUT -i kts0ade00 -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP',
    'IPv4 SNAT -s 127.0.0.0/8 -o kts0ade00 -j MASQUERADE',
    'IPv6 FORWARD -i kts0ade00 -j ACCEPT',
    'IPv6 FORWARD -o kts0ade00 -m conntrack --ctstate RELATED,ESTABLISHED,DNAT -j ACCEPT',
    'IPv6 SNAT -s fd00::/64 ! -d ff00::/8 ! -o kts0ade00 -j MASQUERADE',
    'IPv6 SNAT -s fd00::/64 -o kts0ade00 -m conntrack --ctstate DNAT -j MASQUERADE',
  ]);
});

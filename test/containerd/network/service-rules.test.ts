import { expect, test } from 'vitest';
import { generateRestore, parseSaved } from '../../../src/containerd/network/restore-text.ts';
import { serviceOwner, serviceRules } from '../../../src/containerd/network/service-rules.ts';
import type { ForwardedPort } from '../../../src/api/values/service.ts';

const subnets = ['10.223.0.0/22'];
const web: ForwardedPort = {
  name: 'default/web:http',
  service: { namespace: 'default', name: 'web' },
  at: { clusterIP: '10.223.0.5' },
  protocol: 'TCP',
  port: 80,
  keepsSource: false,
  affinitySeconds: 0,
  endpoints: [
    { ip: '10.222.0.5', port: 8080 },
    { ip: '10.222.0.6', port: 8080 },
    { ip: '10.222.0.7', port: 8080 },
  ],
};

const textOf = (saved: string, ports: readonly ForwardedPort[]): string[] =>
  generateRestore(
    parseSaved(saved),
    'KTV01234567',
    serviceRules('KTV01234567', { subnets: ports.length === 0 ? [] : subnets, ports }),
  )
    ?.trim()
    .split('\n') ?? [];

/** Without the lines that carry a hash of their chain. */
const rulesOf = (port: Partial<ForwardedPort>): string[] =>
  serviceRules('KTV', { subnets: [], ports: [{ ...web, ...port }] }).map(
    ({ family, chain, text }) => `${family} ${chain} ${text}`,
  );

test('one transaction a table forwards a Service and rejects what has no endpoint', () => {
  expect(textOf('', [web])).toEqual([
    '*filter',
    ':KTV01234567-FORWARD - [0:0]',
    ':KTV01234567-REJECT - [0:0]',
    expect.stringMatching(/^-A KTV01234567-FORWARD -m comment --comment [0-9a-f]{16}$/),
    '-A KTV01234567-FORWARD -m conntrack --ctstate DNAT --ctorigdst 10.223.0.0/22 -j ACCEPT',
    '-A FORWARD -j KTV01234567-FORWARD',
    expect.stringMatching(/^-A KTV01234567-REJECT -m comment --comment [0-9a-f]{16}$/),
    '-A KTV01234567-REJECT -d 10.223.0.0/22 -j REJECT',
    '-I FORWARD -j KTV01234567-REJECT',
    '-I OUTPUT -j KTV01234567-REJECT',
    'COMMIT',
    '*nat',
    ':KTV01234567-DNAT - [0:0]',
    ':KTV01234567-SNAT - [0:0]',
    ':KTV01234567-P3c13c43177409e9 - [0:0]',
    expect.stringMatching(/^-A KTV01234567-DNAT -m comment --comment [0-9a-f]{16}$/),
    '-A KTV01234567-DNAT -d 10.223.0.5 -p tcp -m tcp --dport 80 -m comment --comment "default/web:http" -j KTV01234567-P3c13c43177409e9',
    '-A PREROUTING -j KTV01234567-DNAT',
    '-A OUTPUT -j KTV01234567-DNAT',
    expect.stringMatching(/^-A KTV01234567-SNAT -m comment --comment [0-9a-f]{16}$/),
    '-A KTV01234567-SNAT ! -o lo -m conntrack --ctstate DNAT --ctorigdst 10.223.0.0/22 -j MASQUERADE',
    '-A POSTROUTING -j KTV01234567-SNAT',
    expect.stringMatching(/^-A KTV01234567-P3c13c43177409e9 -m comment --comment [0-9a-f]{16}$/),
    '-A KTV01234567-P3c13c43177409e9 -p tcp -m statistic --mode random --probability 0.3333333333 -j DNAT --to-destination 10.222.0.5:8080',
    '-A KTV01234567-P3c13c43177409e9 -p tcp -m statistic --mode random --probability 0.5000000000 -j DNAT --to-destination 10.222.0.6:8080',
    '-A KTV01234567-P3c13c43177409e9 -p tcp -j DNAT --to-destination 10.222.0.7:8080',
    'COMMIT',
  ]);
});

test.each<[string, Partial<ForwardedPort>, string[]]>([
  [
    'UDP in a zone of its endpoints',
    { protocol: 'UDP', endpoints: [{ ip: '10.222.0.5', port: 53 }] },
    [
      'IPv4 DNAT -d 10.223.0.5 -p udp -m udp --dport 80 -m comment --comment "default/web:http" -j KTV-CHAIN',
      'IPv4 ZONE -d 10.223.0.5 -p udp -m udp --dport 80 -j CT --zone-orig ZONE',
      'IPv4 CHAIN -p udp -j DNAT --to-destination 10.222.0.5:53',
    ],
  ],
  [
    'a client to the same endpoint',
    { affinitySeconds: 60, endpoints: web.endpoints.slice(0, 2) },
    [
      'IPv4 DNAT -d 10.223.0.5 -p tcp -m tcp --dport 80 -m comment --comment "default/web:http" -j KTV-CHAIN',
      'IPv4 CHAIN -p tcp -m recent --update --seconds 60 --reap --name KTV-CHAIN-LIST --rsource -j DNAT --to-destination 10.222.0.5:8080',
      'IPv4 CHAIN -p tcp -m recent --update --seconds 60 --reap --name KTV-CHAIN-LIST --rsource -j DNAT --to-destination 10.222.0.6:8080',
      'IPv4 CHAIN -p tcp -m statistic --mode random --probability 0.5000000000 -m recent --set --name KTV-CHAIN-LIST --rsource -j DNAT --to-destination 10.222.0.5:8080',
      'IPv4 CHAIN -p tcp -m recent --set --name KTV-CHAIN-LIST --rsource -j DNAT --to-destination 10.222.0.6:8080',
    ],
  ],
  [
    'a port of the node',
    { at: { node: 'IPv4' }, port: 30_080, endpoints: web.endpoints.slice(0, 1) },
    [
      'IPv4 DNAT -m addrtype --dst-type LOCAL -p tcp -m tcp --dport 30080 -m comment --comment "default/web:http" -j KTV-CHAIN',
      'IPv4 FORWARD -m conntrack --ctstate DNAT --ctproto tcp --ctorigdstport 30080 -j ACCEPT',
      'IPv4 SNAT ! -o lo -m conntrack --ctstate DNAT --ctproto tcp --ctorigdstport 30080 -j MASQUERADE',
      'IPv4 CHAIN -p tcp -j DNAT --to-destination 10.222.0.5:8080',
    ],
  ],
  [
    'a port of the node in IPv6, with the address of the client',
    { at: { node: 'IPv6' }, port: 30_080, keepsSource: true, endpoints: [{ ip: 'fd11::5', port: 8080 }] },
    [
      'IPv6 DNAT ! -d ::1/128 -m addrtype --dst-type LOCAL -p tcp -m tcp --dport 30080 -m comment --comment "default/web:http" -j KTV-CHAIN',
      'IPv6 FORWARD -m conntrack --ctstate DNAT --ctproto tcp --ctorigdstport 30080 -j ACCEPT',
      'IPv6 CHAIN -p tcp -j DNAT --to-destination [fd11::5]:8080',
    ],
  ],
  ['nothing without endpoints', { endpoints: [] }, []],
])('leads %s', (_, port, rules) => {
  const hidden = rulesOf(port).map((rule) =>
    rule
      .replaceAll(/P[0-9a-f]{15}/g, 'CHAIN')
      .replaceAll(/CHAIN-[0-9a-f]{8}/g, 'CHAIN-LIST')
      .replace(/zone-orig \d+/, 'zone-orig ZONE'),
  );
  expect(hidden).toEqual(rules);
});

/** What iptables-save prints once this text is restored on an empty machine, as far as we compare it. */
function saved(text: readonly string[]): string {
  const hooks = ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'].map((hook) => `:${hook} ACCEPT [0:0]`);
  return text.flatMap((line) => (line.startsWith('*') ? [line, ...hooks] : line.replace(/^-I/, '-A'))).join('\n');
}

test('a change of one Service replaces its chain and no other', () => {
  const api = { ...web, name: 'default/api', at: { clusterIP: '10.223.0.6' } };
  const before = saved(textOf('', [web, api]));
  expect(textOf(before, [web, api])).toEqual([]);
  const changed = { ...api, endpoints: [{ ip: '10.222.0.9', port: 8080 }] };
  expect(textOf(before, [web, changed])).toEqual([
    '*nat',
    expect.stringMatching(/^:KTV01234567-P[0-9a-f]{15} - \[0:0\]$/),
    expect.stringMatching(/^-A KTV01234567-P[0-9a-f]{15} -m comment --comment [0-9a-f]{16}$/),
    expect.stringMatching(/^-A KTV01234567-P[0-9a-f]{15} -p tcp -j DNAT --to-destination 10.222.0.9:8080$/),
    'COMMIT',
  ]);
});

test('removes the chain of a Service after the rule that jumps to it, and finally all', () => {
  const before = saved(textOf('', [web]));
  const chain = 'KTV01234567-P3c13c43177409e9';
  expect(textOf(before, [{ ...web, endpoints: [] }])).toEqual([
    '*nat',
    '-D PREROUTING -j KTV01234567-DNAT',
    '-D OUTPUT -j KTV01234567-DNAT',
    '-F KTV01234567-DNAT',
    '-X KTV01234567-DNAT',
    `-F ${chain}`,
    `-X ${chain}`,
    'COMMIT',
  ]);
  expect(
    textOf(before, [])
      .filter((line) => line.startsWith('-X'))
      .map((line) => line.slice(3)),
  ).toEqual(['KTV01234567-FORWARD', 'KTV01234567-REJECT', 'KTV01234567-DNAT', 'KTV01234567-SNAT', chain]);
});

test('names of chains are short enough for the kernel and differ by root-dir', () => {
  const owner = serviceOwner('/var/lib/kubelet-ts');
  expect(owner).toMatch(/^KTV[0-9A-F]{8}$/);
  expect(serviceOwner('/srv/other')).not.toBe(owner);
  const names = serviceRules(owner, { subnets, ports: [web] }).map(({ chain }) => `${owner}-${chain}`);
  expect(Math.max(...names.map(({ length }) => length))).toBeLessThanOrEqual(28);
});

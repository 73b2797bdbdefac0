import { expect, test } from 'vitest';
import { generateRestore, isCut, parseSaved } from '../../../src/containerd/network/restore-text.ts';
import type { Rule } from '../../../src/containerd/network/rules.ts';

const accept: Rule = { family: 'IPv4', chain: 'FORWARD', text: '-i kts0ade00 -j ACCEPT' };
const snat: Rule = { family: 'IPv4', chain: 'SNAT', text: '-s 10.222.0.0/24 -j MASQUERADE' };

/** What iptables-save prints for these rules of FORWARD. */
const filter = (...rules: string[]): string => ['*filter', ':FORWARD DROP [0:0]', ...rules, 'COMMIT', ''].join('\n');

const restore = (saved: string, rules: readonly Rule[]): string[] =>
  generateRestore(parseSaved(saved), 'KTS', rules)?.trim().split('\n') ?? [];

const ours = [
  ':KTS-FORWARD - [0:0]',
  '-A KTS-FORWARD -m comment --comment 62130b8a2fbe78dd',
  '-A KTS-FORWARD -i kts0ade00 -j ACCEPT',
];

test('makes chains and jumps on an empty machine, one transaction a table', () => {
  expect(restore('', [accept, snat])).toEqual([
    '*filter',
    ...ours,
    '-A FORWARD -j KTS-FORWARD',
    'COMMIT',
    '*nat',
    ':KTS-SNAT - [0:0]',
    expect.stringMatching(/^-A KTS-SNAT -m comment --comment [0-9a-f]{16}$/),
    '-A KTS-SNAT -s 10.222.0.0/24 -j MASQUERADE',
    '-A POSTROUTING -j KTS-SNAT',
    'COMMIT',
  ]);
});

test('leads packets to other pods before it begins the zone in which they stay with them', () => {
  const dnat: Rule = { family: 'IPv4', chain: 'DNAT', text: '-d 10.223.0.5 -p udp -j KTS-P5' };
  const zone: Rule = { family: 'IPv4', chain: 'ZONE', text: '-d 10.223.0.5 -p udp -j CT --zone-orig 5' };
  expect(restore('', [zone, dnat]).filter((line) => line.startsWith('*'))).toEqual(['*nat', '*raw']);
});

test.each([
  ['after the rules of an administrator', ['-A FORWARD -s 192.0.2.0/24 -j DROP'], '-A FORWARD -j KTS-FORWARD'],
  [
    'before a rule that rejects everything',
    ['-A FORWARD -i docker0 -j ACCEPT', '-A FORWARD -j REJECT --reject-with icmp-host-prohibited'],
    '-I FORWARD 2 -j KTS-FORWARD',
  ],
  [
    'before a chain that rejects everything, as that of ufw',
    [':ufw-reject-forward - [0:0]', '-A FORWARD -j ufw-reject-forward', '-A ufw-reject-forward -j REJECT'],
    '-I FORWARD 1 -j KTS-FORWARD',
  ],
  [
    'after a chain that returns before it drops',
    [':USER - [0:0]', '-A FORWARD -j USER', '-A USER -j RETURN', '-A USER -j DROP'],
    '-A FORWARD -j KTS-FORWARD',
  ],
  [
    'after chains that jump to each other',
    [':A - [0:0]', ':B - [0:0]', '-A FORWARD -j A', '-A A -j B', '-A B -j A'],
    '-A FORWARD -j KTS-FORWARD',
  ],
])('puts its jump %s', (_, rules, jump) => {
  expect(restore(filter(...rules), [accept])).toEqual(['*filter', ...ours, jump, 'COMMIT']);
});

test('moves a jump that a later rule made void, and removes doubles', () => {
  const saved = filter(...ours, '-A FORWARD -j REJECT', '-A FORWARD -j KTS-FORWARD', '-A FORWARD -j KTS-FORWARD');
  expect(restore(saved, [accept])).toEqual([
    '*filter',
    '-D FORWARD -j KTS-FORWARD',
    '-D FORWARD -j KTS-FORWARD',
    '-I FORWARD 1 -j KTS-FORWARD',
    'COMMIT',
  ]);
});

test('changes nothing where all is as it should be, also if iptables prints rules in another way', () => {
  const printed = ours.map((line) => line.replace('62130b8a2fbe78dd', '"62130b8a2fbe78dd"').replace('-i', '--in'));
  expect(restore(filter(...printed, '-A FORWARD -j KTS-FORWARD'), [accept])).toEqual([]);
});

test.each([
  ['a rule of the chain is gone', ours.slice(0, 2)],
  ['the chain is that of other rules', [...ours.slice(0, 2), '-A KTS-FORWARD -j RETURN', ...ours.slice(2)]],
])('replaces the chain where %s', (_, chain) => {
  expect(restore(filter(...chain, '-A FORWARD -j KTS-FORWARD'), [accept])).toEqual(['*filter', ...ours, 'COMMIT']);
});

test('removes only its chains', () => {
  const saved = filter(...ours, ':OTHER - [0:0]', '-A FORWARD -j OTHER', '-A FORWARD -j KTS-FORWARD');
  expect(restore(saved, [])).toEqual([
    '*filter',
    '-D FORWARD -j KTS-FORWARD',
    '-F KTS-FORWARD',
    '-X KTS-FORWARD',
    'COMMIT',
  ]);
});

test.each([
  ['nothing', filter(...ours, '-A FORWARD -j KTS-FORWARD'), false],
  ['a jump', filter(...ours), true],
  ['the content of a chain', filter(ours[0] ?? '', '-A FORWARD -j KTS-FORWARD'), true],
  ['everything', '', true],
])('reports that somebody removed %s', (_, saved, expected) => {
  expect(isCut(parseSaved(saved), 'KTS', [accept])).toBe(expected);
});

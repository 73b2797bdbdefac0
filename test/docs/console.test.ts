import { expect, test } from 'vitest';
import { consoleCommands, missingFor } from './console-commands.ts';

test('most commands of console blocks in docs/start and docs/use run, and the others need what no test has', () => {
  const counts: Record<string, number> = {};
  for (const each of consoleCommands) {
    const reason = missingFor(each) ?? 'nothing';
    counts[reason] = (counts[reason] ?? 0) + 1;
  }
  expect(counts).toEqual({
    nothing: 59,
    'a cluster': 4,
    kubeadm: 30,
    'a network': 14,
    systemd: 9,
    'a package': 6,
    'an end, because it follows': 6,
    'another program': 5,
    'a terminal': 2,
    CRIU: 1,
    'another release': 1,
    'a bare machine': 2,
    'a machine whose checks all succeed': 2,
  });
});

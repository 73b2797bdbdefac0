import { expect, test } from 'vitest';
import { isJournal } from '../../../src/node/log/create-logger.ts';
import { journalLine } from '../../../src/node/log/log-text.ts';

test.each([
  [20, 7],
  [30, 6],
  [40, 4],
  [50, 3],
])('an entry of level %i has priority %i, no time and no second level', (level, priority) => {
  const entry = { level, time: 1_700_000_000_000, component: 'pleg', pod: 'default/web', msg: 'Pod synced' };
  expect(journalLine(entry)).toBe(`<${priority}>Pod synced {"pod":"default/web"}\n`);
});

test('only the stream that systemd names is its journal', () => {
  const stats = { dev: 9n, ino: 4711n };
  expect([isJournal('9:4711', stats), isJournal('9:1', stats), isJournal(undefined, stats)]).toEqual([
    true,
    false,
    false,
  ]);
});

import { expect, test } from 'vitest';
import { openTerminal } from '../../src/tui/terminal.ts';
import { FakeStdout } from './fake-terminal.ts';

const frame = (...rows: readonly string[]): string => rows.join('\n');

test('enters the alternate screen without cursor, and restores both once', () => {
  const stdout = new FakeStdout(20, 3);
  const terminal = openTerminal(stdout);
  terminal.restore();
  terminal.restore();
  expect(stdout.writes).toEqual([
    '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J',
    '\u001b[0m\u001b[?7h\u001b[?25h\u001b[?1049l',
  ]);
});

test('writes only the rows that changed, and nothing for the same frame', () => {
  const stdout = new FakeStdout(20, 3);
  const terminal = openTerminal(stdout);
  terminal.paint(frame('one', 'two', 'three'));
  stdout.writes.length = 0;
  terminal.paint(frame('one', '2', 'three'));
  terminal.paint(frame('one', '2', 'three'));
  expect(stdout.writes).toEqual(['\u001b[?2026h\u001b[2;1H2\u001b[K\u001b[?2026l']);
});

test('empties rows that a shorter frame no longer has', () => {
  const stdout = new FakeStdout(20, 3);
  const terminal = openTerminal(stdout);
  terminal.paint(frame('one', 'two', 'three'));
  terminal.paint(frame('one'));
  expect(stdout.screen()).toEqual(['one', '', '']);
});

test('writes the whole frame after the screen was lost', () => {
  const stdout = new FakeStdout(20, 3);
  const terminal = openTerminal(stdout);
  terminal.paint(frame('one', 'two'));
  stdout.writes.length = 0;
  terminal.invalidate();
  terminal.paint(frame('one', 'two'));
  expect(stdout.writes).toEqual(['\u001b[?2026h\u001b[2J\u001b[1;1Hone\u001b[2;1Htwo\u001b[?2026l']);
});

test('paints nothing after it was restored', () => {
  const stdout = new FakeStdout(20, 3);
  const terminal = openTerminal(stdout);
  terminal.restore();
  const count = stdout.writes.length;
  terminal.paint(frame('late'));
  expect(stdout.writes.length).toBe(count);
});

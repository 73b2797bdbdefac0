import { expect, test } from 'vitest';
import { openTerminal } from '../../src/tui/terminal.ts';
import { FakeStdout } from './fake-terminal.ts';

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
  terminal.paint('one\ntwo\nthree');
  stdout.writes.length = 0;
  terminal.paint('one\n2\nthree');
  terminal.paint('one\n2\nthree');
  expect(stdout.writes).toEqual(['\u001b[?2026h\u001b[2;1H\u001b[K2\u001b[?2026l']);
});

test('empties rows that a shorter frame no longer has', () => {
  const stdout = new FakeStdout(20, 3);
  const terminal = openTerminal(stdout);
  terminal.paint('one\ntwo\nthree');
  terminal.paint('one');
  expect(stdout.screen()).toEqual(['one', '', '']);
});

test('writes the whole frame after the screen was lost', () => {
  const stdout = new FakeStdout(20, 3);
  const terminal = openTerminal(stdout);
  terminal.paint('one\ntwo');
  stdout.writes.length = 0;
  terminal.invalidate();
  terminal.paint('one\ntwo');
  expect(stdout.writes).toEqual(['\u001b[?2026h\u001b[2J\u001b[1;1H\u001b[Kone\u001b[2;1H\u001b[Ktwo\u001b[?2026l']);
});

test('gives a slow terminal only the newest frame', () => {
  const stdout = new FakeStdout(20, 3);
  const terminal = openTerminal(stdout);
  stdout.writableLength = 100;
  terminal.paint('one');
  terminal.paint('two');
  expect(stdout.screen()).toEqual(['', '', '']);
  stdout.writableLength = 0;
  stdout.emit('drain');
  expect(stdout.screen()).toEqual(['two', '', '']);
});

test('paints nothing after it was restored', () => {
  const stdout = new FakeStdout(20, 3);
  const terminal = openTerminal(stdout);
  terminal.restore();
  const count = stdout.writes.length;
  terminal.paint('late');
  expect(stdout.writes.length).toBe(count);
});

import { expect, test } from 'vitest';
import { guardTerminal } from '../../src/tui/terminal-guard.ts';
import { FakeProcess } from './fake-terminal.ts';

function guard(): { guarded: FakeProcess; left: string[]; remove: () => void } {
  const guarded = new FakeProcess();
  const left: string[] = [];
  const remove = guardTerminal(() => left.push('left'), guarded);
  return { guarded, left, remove };
}

test.each(['exit', 'uncaughtExceptionMonitor', 'SIGINT', 'SIGTERM', 'SIGHUP'])('leaves the screen on %s', (event) => {
  const { guarded, left } = guard();
  guarded.emit(event);
  expect(left).toEqual(['left']);
});

test('ends the process by the signal that nobody else handles', () => {
  const { guarded } = guard();
  guarded.emit('SIGTERM');
  expect(guarded.kills).toEqual([[4242, 'SIGTERM']]);
});

test('leaves a signal to others who handle it', () => {
  const { guarded, left } = guard();
  guarded.on('SIGTERM', () => left.push('other'));
  guarded.emit('SIGTERM');
  expect([left, guarded.kills]).toEqual([['left', 'other'], []]);
});

test('leaves nothing behind when it is taken away', () => {
  const { guarded, remove } = guard();
  remove();
  expect(guarded.eventNames()).toEqual([]);
});

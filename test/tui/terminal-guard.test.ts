import { expect, test } from 'vitest';
import { guardTerminal } from '../../src/tui/terminal-guard.ts';
import { FakeProcess } from './fake-terminal.ts';

function guard({ isLent = false } = {}): { guarded: FakeProcess; left: string[]; remove: () => void } {
  const guarded = new FakeProcess();
  const left: string[] = [];
  const remove = guardTerminal(
    () => left.push('left'),
    guarded,
    () => isLent,
  );
  return { guarded, left, remove };
}

const endings = ['exit', 'uncaughtExceptionMonitor', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP'];

test.each(endings)('leaves the screen on %s', (event) => {
  const { guarded, left } = guard();
  guarded.emit(event);
  expect(left).toEqual(['left']);
});

test.each(['SIGINT', 'SIGQUIT'])('leaves %s to a command that has the terminal, however often it comes', (signal) => {
  const { guarded, left } = guard({ isLent: true });
  guarded.emit(signal);
  guarded.emit(signal);
  expect([left, guarded.kills]).toEqual([[], []]);
});

test.each(['SIGTERM', 'SIGHUP'])('ends the process on %s also while a command has the terminal', (signal) => {
  const { guarded, left } = guard({ isLent: true });
  guarded.emit(signal);
  expect([left, guarded.kills]).toEqual([['left'], [[4242, signal]]]);
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

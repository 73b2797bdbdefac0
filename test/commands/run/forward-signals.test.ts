import { expect, test } from 'vitest';
import { forwardSignals } from '../../../src/commands/run/run-with-screen.ts';
import { FakeProcess } from '../../tui/fake-terminal.ts';

function pass({ isLent = false } = {}) {
  const guarded = new FakeProcess();
  const passed: string[] = [];
  const child = { kill: (signal: string) => passed.push(signal) };
  const agent = { child, signalled: false, isTerminalLent: () => isLent };
  return { guarded, passed, agent, stop: forwardSignals(agent, guarded) };
}

test.each(['SIGINT', 'SIGTERM'])('%s of the screen ends the agent', (signal) => {
  const { guarded, passed, agent } = pass();
  guarded.emit(signal);
  expect([passed, agent.signalled]).toEqual([[signal], true]);
});

test('ctrl-c of a command that has the terminal does not end the agent, and SIGTERM does', () => {
  const { guarded, passed, agent } = pass({ isLent: true });
  guarded.emit('SIGINT');
  const { signalled } = agent;
  guarded.emit('SIGTERM');
  expect([signalled, passed, agent.signalled]).toEqual([false, ['SIGTERM'], true]);
});

test('no signal is passed on after the end', () => {
  const { guarded, stop } = pass();
  stop();
  expect(guarded.eventNames()).toEqual([]);
});

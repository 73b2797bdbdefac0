import { expect, test } from 'vitest';
import { AgentEnd } from '../../src/commands/agent-end.ts';
import { silentLogger } from '../fakes/silent-logger.ts';

function make(): { ending: AgentEnd; stops: string[] } {
  const stops: string[] = [];
  const stop = (reason: string): void => {
    stops.push(reason);
  };
  return { ending: new AgentEnd({ logger: silentLogger, stop }), stops };
}

test.each(['SIGTERM', 'SIGINT'] as const)('%s leaves pods alone when no time for them is set', (signal) => {
  const { ending, stops } = make();
  ending.signalled(signal);
  expect(stops).toEqual([signal]);
});

test('SIGTERM ends the pods first, SIGINT never does', async () => {
  const { ending, stops } = make();
  let ended = (): void => undefined;
  const pods = new Promise<void>((resolve) => {
    ended = resolve;
  });
  ending.podsOf({ shutDownPods: () => pods });
  ending.signalled('SIGTERM');
  expect(stops).toEqual([]);
  ended();
  await pods;
  expect(stops).toEqual(['SIGTERM']);

  const other = make();
  other.ending.podsOf({ shutDownPods: () => Promise.reject(new Error('pods were stopped')) });
  other.ending.signalled('SIGINT');
  expect(other.stops).toEqual(['SIGINT']);
});

test('a second SIGTERM does not wait for the pods', () => {
  const { ending, stops } = make();
  ending.podsOf({ shutDownPods: () => new Promise(() => undefined) });
  ending.signalled('SIGTERM');
  ending.signalled('SIGTERM');
  expect(stops).toEqual(['SIGTERM']);
});

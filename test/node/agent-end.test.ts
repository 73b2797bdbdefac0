import { expect, test } from 'vitest';
import { AgentEnd } from '../../src/node/agent-end.ts';
import { silentLogger } from '../fakes/silent-logger.ts';

function make(): { ending: AgentEnd; stops: string[] } {
  const stops: string[] = [];
  const stop = (reason: string): void => {
    stops.push(reason);
  };
  return { ending: new AgentEnd({ logger: silentLogger, stop }), stops };
}

const untouchedPods = { shutDownPods: () => Promise.reject(new Error('pods were stopped')) };

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
  ending.podsOf({ shutDownPods: () => pods, isWatchingShutdowns: false });
  ending.signalled('SIGTERM');
  expect(stops).toEqual([]);
  ended();
  await pods;
  expect(stops).toEqual(['SIGTERM']);

  const other = make();
  other.ending.podsOf({ ...untouchedPods, isWatchingShutdowns: false });
  other.ending.signalled('SIGINT');
  expect(other.stops).toEqual(['SIGINT']);
});

test('SIGTERM does not stop pods if shutdowns of the machine are reported otherwise', () => {
  const { ending, stops } = make();
  ending.podsOf({ ...untouchedPods, isWatchingShutdowns: true });
  ending.signalled('SIGTERM');
  expect(stops).toEqual(['SIGTERM']);
});

test('a second SIGTERM does not wait for the pods', () => {
  const { ending, stops } = make();
  ending.podsOf({ shutDownPods: () => new Promise(() => undefined), isWatchingShutdowns: false });
  ending.signalled('SIGTERM');
  ending.signalled('SIGTERM');
  expect(stops).toEqual(['SIGTERM']);
});

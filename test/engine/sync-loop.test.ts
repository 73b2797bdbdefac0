import { expect, test } from 'vitest';
import { AsyncQueue } from '../../src/flow/async-queue.ts';
import { runSyncLoop, type SyncLoopInput } from '../../src/engine/sync-loop.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { silentLogger } from '../fakes/silent-logger.ts';

/** A loop that counts the pods it was asked to sync, on a runtime that can be away. */
function startLoop() {
  const clock = new FakeClock();
  const inputs = new AsyncQueue<SyncLoopInput>();
  const listeners = new Set<() => void>();
  const stopping = new AbortController();
  const world = { error: undefined as string | undefined, synced: [] as string[] };
  const nothing = (): void => undefined;
  const ended = runSyncLoop(
    {
      inputs,
      handler: {
        handleConfig: nothing,
        handleConfigObjects: nothing,
        handlePlegEvents: nothing,
        handleProbeChange: nothing,
        handlePodSync: (podUID) => {
          world.synced.push(podUID);
        },
        handleAdmission: nothing,
        handleOperation: nothing,
        handlePodCleanups: nothing,
      },
      clock,
      logger: silentLogger,
      runtimeError: () => world.error,
      onRuntimeReady: (callback) => {
        listeners.add(callback);
        return () => {
          listeners.delete(callback);
        };
      },
    },
    stopping.signal,
  );
  return { world, clock, inputs, listeners, stopping, ended };
}

test('a runtime that comes back finds the inputs handled at once, however long it was away', async () => {
  const { world, clock, inputs, listeners, stopping, ended } = startLoop();
  world.error = 'it is away';
  inputs.push({ type: 'sync', podUID: 'web' });
  await clock.advance(60_000);
  expect(world.synced).toEqual([]);
  world.error = undefined;
  for (const tell of listeners) tell();
  await clock.advance(0);
  expect(world.synced).toEqual(['web']);
  expect({ listeners: listeners.size, timers: clock.pending }).toEqual({ listeners: 0, timers: 0 });
  stopping.abort(new Error('stop'));
  await expect(ended).rejects.toThrow('stop');
});

test('a runtime that nobody tells of is asked for again and again', async () => {
  const { world, clock, inputs, stopping, ended } = startLoop();
  world.error = 'it is away';
  inputs.push({ type: 'sync', podUID: 'web' });
  await clock.advance(250);
  world.error = undefined;
  await clock.advance(50);
  expect(world.synced).toEqual(['web']);
  world.error = 'it is away';
  inputs.push({ type: 'sync', podUID: 'db' });
  await clock.advance(0);
  stopping.abort(new Error('stop'));
  await expect(ended).rejects.toThrow('stop');
  expect(clock.pending).toBe(0);
});

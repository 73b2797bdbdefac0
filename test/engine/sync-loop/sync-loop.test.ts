import { expect, test } from 'vitest';
import { AsyncQueue } from '../../../src/flow/async-queue.ts';
import { runSyncLoop, type SyncLoopInput } from '../../../src/engine/sync-loop/sync-loop.ts';
import { SyncLoopMonitor } from '../../../src/engine/sync-loop/sync-loop-monitor.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';

/** A loop that counts the pods it was asked to sync, on a runtime that can be away. */
function startLoop() {
  const clock = new FakeClock();
  const monitor = new SyncLoopMonitor({ clock, syncFrequencyMs: 60_000 });
  const inputs = new AsyncQueue<SyncLoopInput>();
  const listeners = new Set<() => void>();
  const stopping = new AbortController();
  const world = { error: undefined as string | undefined, hasListed: true, synced: [] as string[] };
  const nothing = (): void => undefined;
  const ended = runSyncLoop(
    {
      inputs,
      handler: {
        handleConfig: ({ op }) => {
          world.synced.push(op);
        },
        handleConfigObjects: (keys) => {
          world.synced.push(...keys);
        },
        handlePlegEvents: nothing,
        handleProbeChange: nothing,
        handlePodSync: (podUID) => {
          world.synced.push(podUID);
        },
        handleAdmission: nothing,
        handleWorkloads: () => undefined,
        handleOperation: (operation) => {
          world.synced.push(operation);
        },
        handlePodCleanups: nothing,
      },
      clock,
      monitor,
      logger: silentLogger,
      runtimeError: () => world.error,
      hasListed: () => world.hasListed,
      onRuntimeReady: (callback) => {
        listeners.add(callback);
        return () => {
          listeners.delete(callback);
        };
      },
    },
    stopping.signal,
  );
  return { world, clock, monitor, inputs, listeners, stopping, ended };
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

/** Inputs in this order, and what is left of them when they were handled. */
const inputsOfAPod = (reached: () => void): SyncLoopInput[] => [
  { type: 'sync', podUID: 'web' },
  { type: 'config', update: { op: 'ADD', pods: [], source: 'file', sourceId: 'file#0' } },
  { type: 'configObjects', keys: ['ConfigMap/default/web'] },
  { type: 'sync', podUID: 'db' },
  { type: 'operation', operation: 'stop', podUID: 'web' },
  { type: 'barrier', reached },
];

test('while the runtime is away, what needs no runtime is handled at once, and the rest in its order after it', async () => {
  const { world, clock, inputs, stopping, ended } = startLoop();
  world.error = 'it is away';
  for (const input of inputsOfAPod(() => world.synced.push('reached'))) inputs.push(input);
  await clock.advance(60_000);
  const atOnce = ['ADD', 'ConfigMap/default/web', 'stop', 'reached'];
  expect(world.synced).toEqual(atOnce);
  world.error = undefined;
  inputs.push({ type: 'sync', podUID: 'last' });
  await clock.advance(5000);
  expect(world.synced).toEqual([...atOnce, 'web', 'db', 'last']);
  stopping.abort(new Error('stop'));
  await expect(ended).rejects.toThrow('stop');
});

test('before the runtime has listed its pods, every input waits for it', async () => {
  const { world, clock, inputs, stopping, ended } = startLoop();
  Object.assign(world, { error: 'it is away', hasListed: false });
  for (const input of inputsOfAPod(() => world.synced.push('reached'))) inputs.push(input);
  await clock.advance(60_000);
  expect(world.synced).toEqual([]);
  Object.assign(world, { error: undefined, hasListed: true });
  await clock.advance(5000);
  expect(world.synced).toEqual(['web', 'ADD', 'ConfigMap/default/web', 'db', 'stop', 'reached']);
  stopping.abort(new Error('stop'));
  await expect(ended).rejects.toThrow('stop');
});

test('a runtime that nobody reports is asked for again and again', async () => {
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

test('a loop without an entry for five minutes counts as stuck, as it does while the runtime is away', async () => {
  const { world, clock, monitor, inputs, stopping, ended } = startLoop();
  await clock.advance(3_600_000);
  expect(monitor.stuckBecause()).toBeUndefined();
  inputs.push({ type: 'housekeeping' });
  await clock.advance(0);
  world.error = 'it is away';
  inputs.push({ type: 'housekeeping' });
  await clock.advance(300_000);
  expect(monitor.stuckBecause()).toBeUndefined();
  await clock.advance(1);
  expect(monitor.stuckBecause()).toBe('sync Loop took longer than expected');
  world.error = undefined;
  await clock.advance(10_000);
  expect(monitor.stuckBecause()).toBeUndefined();
  stopping.abort(new Error('stop'));
  await expect(ended).rejects.toThrow('stop');
});

test('a long syncFrequency makes the monitor patient', async () => {
  const clock = new FakeClock();
  const monitor = new SyncLoopMonitor({ clock, syncFrequencyMs: 600_000 });
  monitor.entered();
  await clock.advance(1_200_000);
  expect(monitor.stuckBecause()).toBeUndefined();
  await clock.advance(1);
  expect(monitor.stuckBecause()).toBe('sync Loop took longer than expected');
});

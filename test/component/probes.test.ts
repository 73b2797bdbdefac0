import type { Container, Probe } from 'kubernetes-types/core/v1.js';
import { describe, expect, test } from 'vitest';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const image = 'registry.example/app:1';

/**
 * Boots an engine with a pod `web` of this container. Commands executed in it exit with `codes.get(word)`.
 */
async function running(
  more: Partial<Container>,
  codes = new Map<string, number>(),
): Promise<{ world: World; engine: Engine; source: ManualSource; executed: string[] }> {
  const world = await World.make();
  const executed: string[] = [];
  world.runtime.scriptExec(({ cmd }) => {
    executed.push(cmd.join(' '));
    return { exitCode: codes.get(cmd[0] ?? '') ?? 0 };
  });
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.set(makeStaticPod('web', { spec: { containers: [{ name: 'main', image, ...more }] } }));
  await world.until(() => world.runtime.requestsOf('startContainer').length > 0);
  return { world, engine, source, executed };
}

const probe = (word: string, more: Partial<Probe> = {}): Probe => ({
  exec: { command: [word] },
  periodSeconds: 10,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 3,
  ...more,
});

describe('a readiness probe', () => {
  test('decides whether a running pod is ready', async () => {
    const codes = new Map([['ready', 1]]);
    const { world, engine } = await running({ readinessProbe: probe('ready') }, codes);
    await world.pass(25_000);
    expect(engine.isReady('web-edge1')).toBe(false);
    codes.set('ready', 0);
    await world.until(() => engine.isReady('web-edge1'));
    codes.set('ready', 1);
    const failingSince = world.clock.now();
    await world.until(() => !engine.isReady('web-edge1'));
    // Three failures in a row, ten seconds apart.
    expect(world.clock.now() - failingSince).toBeGreaterThan(20_000);
    expect(world.clock.now() - failingSince).toBeLessThan(31_000);
    expect(new Set(engine.messages('Unhealthy'))).toEqual(new Set(['Readiness probe failed: ']));
    expect(world.runtime.running()).toEqual(['web-edge1/main#0']);
  });
});

describe('a liveness probe', () => {
  test('that fails three times has the container killed and started again', async () => {
    const codes = new Map([['live', 0]]);
    const { world, engine } = await running({ livenessProbe: probe('live') }, codes);
    await world.until(() => engine.isReady('web-edge1'));
    await world.pass(30_000);
    expect(world.runtime.running()).toEqual(['web-edge1/main#0']);
    codes.set('live', 1);
    await world.until(() => world.runtime.running().includes('web-edge1/main#1'));
    expect(engine.messages('Killing')).toEqual(['Container main failed liveness probe, will be restarted']);
  });

  test('waits until the startup probe succeeded, which then never runs again', async () => {
    const codes = new Map([['up', 1]]);
    const { world, engine, executed } = await running(
      { livenessProbe: probe('live'), startupProbe: probe('up', { failureThreshold: 30 }) },
      codes,
    );
    await world.pass(60_000);
    expect(new Set(executed)).toEqual(new Set(['up']));
    expect(engine.isReady('web-edge1')).toBe(false);
    codes.set('up', 0);
    await world.until(() => engine.isReady('web-edge1'));
    executed.splice(0);
    await world.pass(60_000);
    expect(new Set(executed)).toEqual(new Set(['live']));
  });
});

describe('a preStop hook', () => {
  test('runs before its container is signalled, which gets the rest of the grace period', async () => {
    const { world, source, executed } = await running({ lifecycle: { preStop: { exec: { command: ['drain'] } } } });
    world.runtime.scriptExec(async ({ cmd }) => {
      executed.push(cmd.join(' '));
      await world.clock.sleep(4500);
      return {};
    });
    source.set();
    await world.until(() => world.runtime.requestsOf('stopContainer').length > 0);
    expect(executed).toEqual(['drain']);
    expect(world.runtime.requestsOf('stopContainer').map(({ timeout }) => timeout)).toEqual([26n]);
  });

  test('that never ends is left behind when the grace period is over', async () => {
    const { world, source } = await running({ lifecycle: { preStop: { sleep: { seconds: 3600 } } } });
    source.set();
    const removedAt = world.clock.now();
    await world.until(() => world.runtime.running().length === 0);
    expect(world.clock.now() - removedAt).toBeLessThan(33_000);
    expect(world.runtime.requestsOf('stopContainer').map(({ timeout }) => timeout)).toEqual([2n]);
  });
});

test('a container whose postStart hook fails is killed, and starts again after its back-off', async () => {
  const codes = new Map([['warm', 1]]);
  const { world, engine } = await running({ lifecycle: { postStart: { exec: { command: ['warm'] } } } }, codes);
  await world.until(() => engine.waitingReason('web-edge1') === 'CrashLoopBackOff');
  expect(engine.messages('FailedPostStartHook')).toEqual(['PostStartHook failed', 'PostStartHook failed']);
  expect(engine.messages('Killing')).toEqual(['FailedPostStartHook', 'FailedPostStartHook']);
  codes.set('warm', 0);
  await world.until(() => engine.isReady('web-edge1'));
});

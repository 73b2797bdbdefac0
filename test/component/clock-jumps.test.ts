import { describe, expect, test } from 'vitest';
import { makeStaticPod } from '../builders/static-pod.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const dayMs = 86_400_000;

const jumps = [
  ['a day back', -dayMs],
  ['a day forward', dayMs],
] as const;

async function boot(): Promise<{ world: World; engine: Engine; source: ManualSource }> {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  return { world, engine, source };
}

function jump({ clock }: World, byMs: number): void {
  clock.setWallClock(clock.now() + byMs);
}

/** Milliseconds until `isSo` returns true, to the accuracy of the steps of `World`. */
async function timeUntil(world: World, isSo: () => boolean): Promise<number> {
  const since = world.clock.monotonic();
  await world.until(isSo);
  return world.clock.monotonic() - since;
}

const starts = (world: World): number => world.runtime.requestsOf('startContainer').length;

describe.each(jumps)('when the clock is set %s', (_where, byMs) => {
  test('a container that crashes waits for its restart as long as ever', async () => {
    const { world, source } = await boot();
    world.runtime.script('main', { exitAfterMs: 500, exitCode: 1 });
    source.set(makeStaticPod('web'));
    // The third run starts 10 s after the end of the second.
    await world.until(() => starts(world) === 2 && world.runtime.running().length === 0);
    await world.pass(3000);
    jump(world, byMs);
    const waitedMs = await timeUntil(world, () => starts(world) === 3);
    expect(Math.round(waitedMs / 1000)).toBe(7);
  });

  test('a container that ends after that waits as long as ever too', async () => {
    const { world, source } = await boot();
    world.runtime.script('main', { exitAfterMs: 500, exitCode: 1 });
    source.set(makeStaticPod('web'));
    await world.until(() => starts(world) === 2);
    jump(world, byMs);
    await world.until(() => world.runtime.running().length === 0);
    const waitedMs = await timeUntil(world, () => starts(world) === 3);
    expect(Math.round(waitedMs / 1000)).toBe(10);
    expect(world.runtime.maxConcurrentRunning('web-edge1', 'main')).toBe(1);
  });

  test('an image that could not be pulled is pulled again after as long as ever', async () => {
    const { world, source } = await boot();
    world.runtime.injectError('pullImage', new Refusal(codes.unavailable, 'not now'));
    source.set(makeStaticPod('web'));
    await world.until(() => world.runtime.requestsOf('pullImage').length === 1);
    jump(world, byMs);
    const waitedMs = await timeUntil(world, () => world.runtime.requestsOf('pullImage').length === 2);
    expect(Math.round(waitedMs / 1000)).toBe(10);
  });

  test('a probe waits for its initial delay, and no longer', async () => {
    const { world, source } = await boot();
    const readinessProbe = { exec: { command: ['true'] }, initialDelaySeconds: 10, periodSeconds: 1 };
    const main = { name: 'main', image: 'registry.example/app:1', readinessProbe };
    source.set(makeStaticPod('web', { spec: { containers: [main] } }));
    await world.until(() => world.runtime.running().length === 1);
    await world.pass(4000);
    jump(world, byMs);
    const waitedMs = await timeUntil(world, () => world.runtime.requestsOf('execSync').length === 1);
    expect(Math.round(waitedMs / 1000)).toBe(6);
  });

  test('a pod has the time of its deadline', async () => {
    const { world, engine, source } = await boot();
    source.set(makeStaticPod('web', { spec: { activeDeadlineSeconds: 100 } }));
    await world.until(() => engine.isReady('web-edge1'));
    await world.pass(30_000);
    jump(world, byMs);
    await world.pass(60_000);
    expect(engine.phase('web-edge1')).toBe('Running');
    await world.pass(100_000);
    expect(engine.pod('web-edge1')?.pod.status?.reason).toBe('DeadlineExceeded');
  });

  test('the newest run of a container counts, whatever its stamp', async () => {
    const { world, engine, source } = await boot();
    source.set(makeStaticPod('web'));
    await world.until(() => engine.isReady('web-edge1'));
    jump(world, byMs);
    for (const restarts of [1, 2]) {
      world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
      await world.until(() => starts(world) === restarts + 1 && engine.isReady('web-edge1'));
      expect(engine.pod('web-edge1')?.pod.status?.containerStatuses?.[0]?.restartCount).toBe(restarts);
    }
    await world.pass(60_000);
    expect(starts(world)).toBe(3);
    expect(world.runtime.maxConcurrentRunning('web-edge1', 'main')).toBe(1);
  });
});

test('a pod that started before the clock of the machine was set has its age ten seconds after that', async () => {
  const world = await World.make();
  const today = Date.UTC(2030, 0, 1);
  world.clock.setWallClock(0);
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.set(makeStaticPod('web'));
  await world.until(() => engine.isReady('web-edge1'));
  await world.pass(60_000);
  const startedMsAgo = (): number =>
    world.clock.now() - Date.parse(engine.pod('web-edge1')?.pod.status?.startTime ?? '');
  const before = startedMsAgo();
  world.clock.setWallClock(today);
  await world.pass(10_500);
  expect(Math.round((startedMsAgo() - before) / 1000)).toBe(11);
});

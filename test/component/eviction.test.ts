import { readdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { PodSpec } from '../../src/api/types.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const kibibyte = 1024;

/** A running pod whose emptyDir may hold 64 KiB. */
async function runLimited(
  spec: Partial<PodSpec> = {},
): Promise<{ world: World; engine: Engine; source: ManualSource }> {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.set(
    makeStaticPod('web', {
      uid: 'u1',
      spec: {
        containers: [
          { name: 'main', image: 'registry.example/app:1', volumeMounts: [{ name: 'cache', mountPath: '/cache' }] },
        ],
        volumes: [{ name: 'cache', emptyDir: { sizeLimit: '64Ki' } }],
        ...spec,
      },
    }),
  );
  await world.until(() => engine.isReady('web-edge1'));
  return { world, engine, source };
}

const cachePath = (world: World): string =>
  join(world.rootDir, 'pods', 'u1', 'volumes', 'kubernetes.io~empty-dir', 'cache');

const fill = (world: World, bytes: number): Promise<void> =>
  writeFile(join(cachePath(world), 'file'), Buffer.alloc(bytes, 1));

const message = 'Usage of EmptyDir volume "cache" exceeds the limit "64Ki". ';

test('a pod that stays within the limit of its emptyDir is left alone', async () => {
  const { world, engine } = await runLimited();
  await fill(world, 32 * kibibyte);
  // A sparse file is long and uses no space.
  await writeFile(join(cachePath(world), 'sparse'), '');
  await truncate(join(cachePath(world), 'sparse'), 1024 * kibibyte);
  await world.pass(60_000);
  expect(engine.messages('Evicted')).toEqual([]);
  expect(world.runtime.running()).toEqual(['web-edge1/main#0']);
});

test('a pod that puts more into an emptyDir than its limit is evicted, and comes back with an empty one', async () => {
  const { world, engine } = await runLimited();
  await fill(world, 128 * kibibyte);
  await world.until(() => engine.pod('web-edge1')?.worker.state === 'finished');
  expect(engine.messages('Evicted')).toEqual([message]);
  const { status } = engine.pod('web-edge1')?.pod ?? {};
  expect(status).toMatchObject({ phase: 'Failed', reason: 'Evicted', message });
  expect(status?.conditions?.filter(({ type }) => type === 'DisruptionTarget')).toMatchObject([
    { status: 'True', reason: 'TerminationByKubelet', message },
  ]);
  expect(world.runtime.requestsOf('stopContainer')[0]?.timeout).toBe(2n);
  expect(world.runtime.running()).toEqual([]);

  await world.until(() => engine.isReady('web-edge1'));
  expect(engine.pod('web-edge1')?.pod.status?.reason).toBeUndefined();
  expect(await readdir(cachePath(world))).toEqual([]);
  expect(await world.inventory()).toEqual(['web-edge1#0 SANDBOX_READY', 'web-edge1/main#0 CONTAINER_RUNNING']);
});

test('a pod that is evicted again and again comes back later every time', async () => {
  const { world, engine } = await runLimited();
  for (let time = 0; time < 3; time += 1) {
    await fill(world, 128 * kibibyte);
    await world.until(() => engine.messages('Evicted').length === time + 1);
    // Until its worker is finished, the pod shows the state of the previous run.
    await world.until(() => engine.pod('web-edge1')?.worker.state === 'finished');
    await world.until(() => engine.isReady('web-edge1') && engine.phase('web-edge1') === 'Running');
  }
  const timesOf = (reason: string): number[] =>
    engine.events.events.flatMap((event) => (event.type === 'Recorded' && event.reason === reason ? [event.at] : []));
  const starts = timesOf('Started').slice(1);
  const [first = 0, second = 0, third = 0] = timesOf('Evicted').map(
    (evictedAt, time) => (starts[time] ?? 0) - evictedAt,
  );
  expect(first).toBeGreaterThanOrEqual(10_000);
  expect(second).toBeGreaterThanOrEqual(20_000);
  expect(third).toBeGreaterThanOrEqual(40_000);
  expect(third).toBeLessThan(45_000);
});

test('a pod that is never restarted stays evicted until its manifest changes, even when its container ended well', async () => {
  const { world, engine, source } = await runLimited({ restartPolicy: 'Never' });
  world.runtime.script('main', { stopExitCode: 0 });
  await fill(world, 128 * kibibyte);
  await world.until(() => engine.pod('web-edge1')?.worker.state === 'finished');
  await world.pass(60_000);
  expect(engine.pod('web-edge1')?.pod.status).toMatchObject({ phase: 'Failed', reason: 'Evicted', message });
  source.set(makeStaticPod('web', { uid: 'u2', spec: { restartPolicy: 'Never' } }));
  await world.until(() => engine.isReady('web-edge1'));
});

test('an evicted pod whose manifest goes does not come back', async () => {
  const { world, engine, source } = await runLimited();
  await fill(world, 128 * kibibyte);
  await world.until(() => engine.messages('Evicted').length === 1);
  source.set();
  await world.pass(60_000);
  expect(await world.inventory()).toEqual([]);
  expect(engine.pod('web-edge1')).toBeUndefined();
});

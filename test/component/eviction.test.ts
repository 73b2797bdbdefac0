import { readdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Container, Pod, PodSpec } from '../../src/api/types.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const kibibyte = 1024;

/** A pod whose emptyDir may hold 64 KiB. */
function limited(container: Partial<Container> = {}, spec: Partial<PodSpec> = {}): Pod {
  const volumeMounts = [{ name: 'cache', mountPath: '/cache' }];
  return makeStaticPod('web', {
    uid: 'u1',
    spec: {
      containers: [{ name: 'main', image: 'registry.example/app:1', volumeMounts, ...container }],
      volumes: [{ name: 'cache', emptyDir: { sizeLimit: '64Ki' } }],
      ...spec,
    },
  });
}

/** A running pod whose emptyDir may hold 64 KiB. */
async function runLimited(
  spec: Partial<PodSpec> = {},
): Promise<{ world: World; engine: Engine; source: ManualSource }> {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.set(limited({}, spec));
  await world.until(() => engine.isReady('web-edge1'));
  return { world, engine, source };
}

const cachePath = (world: World): string =>
  join(world.rootDir, 'pods', 'u1', 'volumes', 'kubernetes.io~empty-dir', 'cache');

const fill = (world: World, bytes: number): Promise<void> =>
  writeFile(join(cachePath(world), 'file'), Buffer.alloc(bytes, 1));

/** Asks, and lets time pass until the answer. */
async function operate(world: World, engine: Engine, action: 'stop' | 'start'): Promise<void> {
  let isDone = false;
  const asked = engine.kubelet.operate({ action, pod: { namespace: 'default', name: 'web-edge1' } }).finally(() => {
    isDone = true;
  });
  await world.until(() => isDone);
  await asked;
}

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

test('an evicted pod of a Job does not come back, because the Job replaces it or has failed', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  const { spec } = limited({}, { restartPolicy: 'OnFailure' });
  const [job, name] = [{ backoffLimit: 0, template: { spec } }, { name: 'web' }];
  source.setManifest(JSON.stringify({ apiVersion: 'batch/v1', kind: 'Job', metadata: name, spec: job }));
  await world.until(() => engine.isReady('web-edge1'));
  const uid = engine.pod('web-edge1')?.pod.metadata.uid ?? '';
  const cache = cachePath(world).replace('/u1/', `/${uid}/`);
  await writeFile(join(cache, 'file'), Buffer.alloc(128 * kibibyte, 1));
  await world.until(() => engine.messages('BackoffLimitExceeded').length > 0);
  await world.pass(60_000);
  expect(world.runtime.requestsOf('createContainer')).toHaveLength(1);
  expect(engine.pod('web-edge1')?.pod.status).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
});

test('a pod that is evicted while its postStart hook runs is stopped once, within two seconds', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  world.runtime.hang('execSync');
  source.set(limited({ lifecycle: { postStart: { exec: { command: ['warm'] } } } }));
  await world.until(() => world.runtime.requestsOf('execSync').length > 0);
  await fill(world, 128 * kibibyte);
  await world.until(() => engine.pod('web-edge1')?.worker.state === 'finished');
  expect({
    failures: engine.messages('FailedPostStartHook'),
    timeouts: world.runtime.requestsOf('stopContainer').map(({ timeout }) => timeout),
  }).toEqual({ failures: [], timeouts: [2n] });
});

test('an evicted pod that is stopped and started runs on as any other one, with an empty emptyDir', async () => {
  const { world, engine } = await runLimited();
  const filePath = join(cachePath(world), 'file');
  await fill(world, 128 * kibibyte);
  await world.until(() => engine.pod('web-edge1')?.worker.state === 'finished');
  await operate(world, engine, 'stop');
  await operate(world, engine, 'start');
  await world.until(() => engine.isReady('web-edge1'));
  const filesAtStart = await readdir(cachePath(world));
  await writeFile(filePath, 'data');
  await world.pass(60_000);
  await engine.kill();
  const source = new ManualSource();
  const next = await world.boot({ sources: [source] });
  source.set(limited());
  await world.until(() => next.isReady('web-edge1'));
  await world.pass(60_000);
  expect([engine, next].map((one) => one.messages('Evicted'))).toEqual([[message], []]);
  expect(world.runtime.requestsOf('stopContainer')).toHaveLength(1);
  expect({ filesAtStart, after: await readdir(cachePath(world)) }).toEqual({ filesAtStart: [], after: ['file'] });
});

test('a stop keeps all of a pod that was evicted, stopped and started before', async () => {
  const { world, engine } = await runLimited();
  await fill(world, 128 * kibibyte);
  await world.until(() => engine.pod('web-edge1')?.worker.state === 'finished');
  await operate(world, engine, 'stop');
  await operate(world, engine, 'start');
  await world.until(() => engine.isReady('web-edge1'));
  await fill(world, 32 * kibibyte);
  await operate(world, engine, 'stop');
  await world.pass(60_000);
  expect({ inventory: await world.inventory(), files: await readdir(cachePath(world)) }).toEqual({
    inventory: ['web-edge1#0 SANDBOX_NOTREADY', 'web-edge1/main#0 CONTAINER_EXITED'],
    files: ['file'],
  });
});

test('an evicted pod whose manifest is removed does not come back', async () => {
  const { world, engine, source } = await runLimited();
  await fill(world, 128 * kibibyte);
  await world.until(() => engine.messages('Evicted').length === 1);
  source.set();
  await world.pass(60_000);
  expect(await world.inventory()).toEqual([]);
  expect(engine.pod('web-edge1')).toBeUndefined();
});

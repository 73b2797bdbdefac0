import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { boundedText } from '../../src/text/bounded-text.ts';
import type { PodSource } from '../../src/engine/config/pod-source.ts';
import { UserError } from '../../src/errors.ts';
import { Faults } from '../../src/flow/faults.ts';
import { makeSecret } from '../builders/config-objects.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { type Engine, World } from './world.ts';

const parts = (engine: Engine): string[] => engine.kubelet.snapshot().faults.map(({ part }) => part);

test('an engine that cannot read its folder of pods waits until it can', async () => {
  const world = await World.make();
  const folder = join(world.rootDir, 'pods');
  await mkdir(world.rootDir);
  await writeFile(folder, 'a file where a folder belongs');
  const source = new ManualSource();
  source.set(makeStaticPod('web'));
  const booting = world.boot({ sources: [source] });
  // Without the folder the engine starts nothing, because it cannot know the pods of an earlier run.
  await world.pass(5000);
  expect(world.runtime.running()).toEqual([]);
  await rm(folder);
  await world.pass(10_000);
  const engine = await booting;
  await world.until(() => engine.isReady('web-edge1'));
  expect(parts(engine)).toEqual(['pod folders']);
});

test('an engine whose folder of pods fails continues, and cleans up once it is back', async () => {
  const world = await World.make();
  const folder = join(world.rootDir, 'pods');
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.set(makeStaticPod('web'));
  await world.until(() => engine.isReady('web-edge1'));
  await rename(folder, `${folder}.away`);
  await writeFile(folder, '');
  await world.pass(10_000);
  const [fault] = engine.kubelet.snapshot().faults;
  expect({ part: fault?.part, message: fault?.message }).toEqual({
    part: 'clean-up of orphans',
    message: `ENOTDIR: not a directory, scandir '${folder}'`,
  });
  await rm(folder);
  await rename(`${folder}.away`, folder);
  source.set(makeStaticPod('web'), makeStaticPod('db'));
  await world.until(() => engine.isReady('db-edge1'));
  expect(world.runtime.running().sort()).toEqual(['db-edge1/main#0', 'web-edge1/main#0']);
});

test('a source that fails is read again, and takes no other one along', async () => {
  const world = await World.make();
  const pod = makeStaticPod('late');
  let tries = 0;
  const failing: PodSource = {
    source: 'http',
    where: 'http://box.example/pods.yaml',
    run: async ({ onUpdate }, signal) => {
      tries += 1;
      if (tries < 3) throw Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' });
      onUpdate({ source: 'http', where: 'http://box.example/pods.yaml', pods: [pod], problems: [] });
      await world.clock.sleep(Infinity, { signal });
    },
  };
  const source = new ManualSource();
  source.set(makeStaticPod('web'));
  const engine = await world.boot({ sources: [failing, source] });
  await world.until(() => engine.isReady('web-edge1') && engine.isReady('late-edge1'));
  expect(engine.kubelet.snapshot().faults.map(({ part, count }) => ({ part, count }))).toEqual([
    { part: 'source http#0', count: 2 },
  ]);
});

test('a fault is shown without the values of Secrets, and cut', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const faults = new Faults({ clock: world.clock, logger: silentLogger });
  const engine = await world.boot({ sources: [source], faults });
  source.set(makeStaticPod('web'));
  source.setConfigObjects(makeSecret('login', { password: 'hunter2-hunter2' }));
  await world.until(() => engine.isReady('web-edge1'));
  faults.record('disk', new UserError(`open hunter2-hunter2${'!'.repeat(10_000)}`));
  const [{ part, message } = {}] = engine.kubelet.snapshot().faults;
  expect({ part, message }).toEqual({ part: 'disk', message: boundedText(`open <hidden>${'!'.repeat(10_000)}`, 1024) });
});

test('a listener of events that throws costs neither the pods nor the other listeners', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  engine.kubelet.subscribe(() => {
    throw new TypeError('a bug');
  });
  source.set(makeStaticPod('web'));
  await world.until(() => engine.isReady('web-edge1'));
  expect(parts(engine)).toEqual(['listener of events']);
});

import { expect, test } from 'vitest';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { World } from './world.ts';

test('a container that ran out of memory is an event of its pod, also without the log of the kernel', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.set(
    makeStaticPod('web', {
      spec: { containers: [{ name: 'main', image: 'app:1', resources: { limits: { memory: '16Mi' } } }] },
    }),
  );
  await world.until(() => engine.isReady('web-edge1'));
  world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 137, { oom: true });
  await world.until(() => engine.messages('OOMKilling').length > 0);
  await world.pass(60_000);
  expect(engine.messages('OOMKilling')).toEqual(['Out of memory: a process was killed; limit of the container 16Mi']);
});

test('memory-backed volumes that can reach the disk are an event of the node', async () => {
  const world = await World.make();
  const node = makeNodeConfig(world.folder, { isTmpfsSwapped: true });
  const engine = await world.boot({ sources: [new ManualSource()], node });
  await world.until(() => engine.messages('PossibleMemoryBackedVolumesOnDisk').length > 0);
  expect(engine.messages('PossibleMemoryBackedVolumesOnDisk')).toEqual([
    'The tmpfs noswap option is not supported. Memory-backed volumes (e.g. secrets, emptyDirs, etc.) might be swapped to disk and should no longer be considered secure.',
  ]);
});

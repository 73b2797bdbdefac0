import { expect, test } from 'vitest';
import { criAnnotations } from '../../src/engine/container/labels.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { World } from './world.ts';

const deadContainers = 5000;
const unusedImages = 500;
const imageBytes = 10n;
const capacityBytes = BigInt(unusedImages) * imageBytes;

test('collects 5,000 dead containers and 500 unused images while a pod keeps running', async () => {
  const world = await World.make();
  const { runtime } = world;
  const source = new ManualSource();
  source.set(makeStaticPod('web'));
  const first = await world.boot({ sources: [source] });
  await world.until(() => first.isReady('web-edge1'));
  await first.kill();

  runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
  await addDeadContainers(world);
  for (let index = 0; index < unusedImages; index++) {
    runtime.addImage(`unused.example/app:${String(index)}`, { size: imageBytes });
  }
  const unused = (): number =>
    runtime.images.list().filter(({ repoTags: [name = ''] }) => name.startsWith('unused.example/')).length;
  const second = await world.boot({
    sources: [source],
    readFilesystem: () =>
      Promise.resolve({ capacityBytes, availableBytes: capacityBytes - BigInt(unused()) * imageBytes }),
  });
  const next = deadContainers + 1;
  await world.until(() => second.isReady('web-edge1'));
  await world.pass(61_000);
  expect(await world.inventory()).toEqual([
    'web-edge1#0 SANDBOX_READY',
    `web-edge1/main#${String(deadContainers)} CONTAINER_EXITED`,
    `web-edge1/main#${String(next)} CONTAINER_RUNNING`,
  ]);
  // The disk of images is full. It is emptied to the low threshold of 80 %.
  await world.until(() => unused() < unusedImages);
  expect(unused()).toBe(400);
  expect(runtime.running()).toEqual([`web-edge1/main#${String(next)}`]);
});

/** Ended instances 1 to `deadContainers` of the pod's container, as an agent without a collector would leave them. */
async function addDeadContainers({ runtime, clock }: World): Promise<void> {
  const [created] = runtime.requestsOf('createContainer');
  if (created?.config === undefined) throw new Error('the pod has no container');
  const { config } = created;
  for (let attempt = 1; attempt <= deadContainers; attempt++) {
    await clock.advance(1);
    const { containerId } = await runtime.createContainer({
      ...created,
      config: {
        ...config,
        metadata: { name: 'main', attempt },
        annotations: { ...config.annotations, [criAnnotations.restartCount]: String(attempt) },
      },
    });
    await runtime.startContainer({ containerId });
    runtime.exitContainer(containerId, 1);
  }
}

import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { RuntimeConnection } from '../../src/node/runtime-connection.ts';
import { ImageCollector } from '../../src/engine/images/image-collector.ts';
import { EventRecorder } from '../fakes/event-recorder.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { ImageRegistry } from '../fakes/image-registry.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { type Agent, startAgent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { makePod, serve, shell } from './manifests.ts';
import { imagesFolder } from './program.ts';

describe.each(containerdReleases().slice(0, 1))('on containerd $release, when the disk is full', (containerd) => {
  let registry: ImageRegistry;
  let agent: Agent;
  let connection: RuntimeConnection;

  beforeAll(async () => {
    registry = await ImageRegistry.start(join(imagesFolder, 'busybox.tar'));
    agent = await startAgent({ containerd, images: ['etcd.tar'] });
  });
  beforeEach(async () => {
    connection = await agent.connect();
  });
  afterEach(() => {
    connection.close();
  });
  afterAll(async () => {
    await agent.cleanUp();
    await registry.stop();
  });

  const names = async (): Promise<string[]> =>
    (await connection.images.listImages({})).images.flatMap(({ repoTags }) => repoTags).sort();

  /** What a collector does on this runtime that knows of no pods, and for which nothing it frees is enough. */
  async function collect(): Promise<void> {
    const clock = new FakeClock();
    let periods = 0;
    const events = new EventRecorder(clock);
    const collector = new ImageCollector({
      runtime: connection.runtime,
      imageService: connection.images,
      policy: { highThresholdPercent: 1, lowThresholdPercent: 0, minAgeMs: 0, maxAgeMs: 0 },
      pods: () => [],
      // Those of archives, which containerd 1.6 does not pin.
      keptImages: ['localhost/etcd:3'],
      readFilesystem: () => Promise.resolve({ capacityBytes: 2n ** 50n, availableBytes: 0n }),
      clock: {
        now: () => clock.now(),
        monotonic: () => clock.monotonic(),
        after: (ms, fn) => clock.after(ms, fn),
        // The first period is over at once, the second never.
        sleep: (ms, options) => ((periods += 1) === 1 ? clock.advance(ms) : clock.sleep(ms, options)),
      },
      emit: events.emit,
      logger: silentLogger,
    });
    const stopping = new AbortController();
    const ended = collector.run(stopping.signal);
    onTestFinished(async () => {
      stopping.abort();
      await ended;
    });
    await events.waitFor('Recorded', ({ reason }) => reason === 'FreeDiskSpaceFailed');
  }

  test('an image goes when no container has it, and those of sandboxes and of archives stay', async () => {
    const image = `${registry.host}/app:1`;
    const always = await names();
    await agent.write('web.yaml', makePod('web', { containers: [shell('app', serve, { image })] }));
    await agent.untilReady('web');
    await collect();
    expect(await names()).toEqual([image, ...always].sort());
    await agent.removeAll();
    await collect();
    expect(await names()).toEqual(always);
    // It can come back.
    await agent.write('web.yaml', makePod('web', { containers: [shell('app', serve, { image })] }));
    await agent.untilReady('web');
    await agent.removeAll();
  });
});

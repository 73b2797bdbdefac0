import { expect, onTestFinished, test } from 'vitest';
import { pauseImageName } from '../../src/containerd/pause/pause-image.ts';
import { startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

test('a pause image that somebody removed is there again for the next pod, under the same agent', async () => {
  const agent = await startAgent();
  onTestFinished(() => agent.cleanUp());
  const connection = await agent.connect();
  onTestFinished(() => {
    connection.close();
  });
  const isThere = async (): Promise<boolean> =>
    (await connection.images.imageStatus({ image: { image: pauseImageName } })).image !== undefined;
  expect(await isThere()).toBe(true);
  await connection.images.removeImage({ image: { image: pauseImageName } });
  expect(await isThere()).toBe(false);
  await agent.write('web.yaml', makePod('web', { containers: [shell('app', serve)] }));
  await agent.untilReady('web');
  expect(await isThere()).toBe(true);
});

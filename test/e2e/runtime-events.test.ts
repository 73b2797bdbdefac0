import { describe, expect, onTestFinished, test } from 'vitest';
import { startAgent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { makePod, serve, shell } from './manifests.ts';

describe.each(containerdReleases())('containerd $release', (containerd) => {
  test('tells of an exit, so that a container is started again without any relist', async () => {
    const agent = await startAgent({ containerd });
    onTestFinished(() => agent.cleanUp());
    const live = await agent.waitForLog(({ msg }) => msg === 'The runtime tells what happens');
    expect(live['stream']).toBe('containerd');
    await agent.write('app.yaml', makePod('app', { containers: [shell('app', serve)] }));
    await agent.untilReady('app');
    // By now everything was relisted for what happened before the stream was there; the next time is in a minute.
    const { pleg } = await agent.until(() => true);
    const { pid } = await agent.runningContainer('app');
    process.kill(pid, 'SIGKILL');
    await agent.untilPod('app', ({ pod }) => pod.status?.containerStatuses?.[0]?.restartCount === 1);
    expect((await agent.until(() => true)).pleg).toEqual(pleg);
  });
});

import { isDeepStrictEqual } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ContainerExit } from '../../src/engine/container/container-exits.ts';
import { startAgent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { makePod, serve, shell } from './manifests.ts';

describe.each(containerdReleases())('containerd $release', (containerd) => {
  test('reports an exit, so that a container is started again without any relist', async () => {
    const agent = await startAgent({ containerd });
    onTestFinished(() => agent.cleanUp());
    const live = await agent.waitForLog(({ msg }) => msg === 'Following the event stream of the runtime');
    expect(live['stream']).toBe('containerd');
    await agent.write('app.yaml', makePod('app', { containers: [shell('app', serve)] }));
    await agent.untilReady('app');
    // By now everything was relisted for what happened before the stream was there; the next time is in a minute.
    let isRelisted = true;
    for (let restartCount = 1; isRelisted; restartCount += 1) {
      const { pleg } = await agent.until(() => true);
      const { pid } = await agent.runningContainer('app');
      process.kill(pid, 'SIGKILL');
      await agent.untilPod('app', ({ pod }) => pod.status?.containerStatuses?.[0]?.restartCount === restartCount);
      await agent.untilReady('app');
      isRelisted = !isDeepStrictEqual((await agent.until(() => true)).pleg, pleg);
    }
  });

  test('reports how a container ended as the CRI does a moment later', async () => {
    const agent = await startAgent({ containerd });
    onTestFinished(() => agent.cleanUp());
    await agent.waitForLog(({ msg }) => msg === 'Following the event stream of the runtime');
    const connection = await agent.connect();
    onTestFinished(() => {
      connection.close();
    });
    const told = new Map<string, ContainerExit>();
    const containerCount = 4;
    let allTold = (): void => undefined;
    const areTold = new Promise<void>((resolve) => {
      allTold = resolve;
    });
    const listening = new AbortController();
    const listened = (async () => {
      for await (const { id, end } of connection.events.events(listening.signal)) {
        if (end !== undefined) told.set(id, end);
        if (told.size === containerCount) allTold();
      }
    })();
    const pod = makePod('ends', {
      restartPolicy: 'Never',
      containers: [
        shell('well', 'true'),
        shell('badly', 'exit 3'),
        shell('killed', 'sleep 3600'),
        shell('hungry', 'tail /dev/zero', { resources: { limits: { memory: '16Mi' } } }),
      ],
    });
    await agent.write('ends.yaml', pod);
    await agent.untilPod('ends', ({ pod: { status } }) =>
      Boolean(status?.containerStatuses?.some(({ name, state }) => name === 'killed' && state?.running)),
    );
    process.kill((await agent.runningContainer('ends', 'killed')).pid, 'SIGKILL');
    await agent.untilPod('ends', ({ worker }) => worker.state === 'finished');
    // The agent has a stream of its own, and may have seen them before.
    await areTold;
    const { containers } = await connection.runtime.listContainers();
    const statuses = await Promise.all(
      containers.map(async ({ id }) => (await connection.runtime.containerStatus({ containerId: id })).status),
    );
    const ends = statuses.flatMap((status) =>
      status === undefined ? [] : [{ name: status.metadata?.name, said: told.get(status.id), status }],
    );
    for (const { said, status } of ends) {
      const { exitCode, reason, finishedAt } = status;
      expect(said).toEqual({ exitCode, reason, finishedAt: Number(finishedAt / 1_000_000n) });
    }
    // A containerd that hears of the kill after the exit says Error instead of OOMKilled, to everybody.
    expect(ends.map(({ name, said }) => `${name} ${said?.exitCode}`).sort()).toEqual([
      'badly 3',
      'hungry 137',
      'killed 137',
      'well 0',
    ]);
    listening.abort(new Error('the test is over'));
    await listened.catch(() => undefined);
  });
});

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readCgroupMounts } from '../../src/engine/container-manager/cgroup-mounts.ts';
import { Agent } from './agent.ts';
import { inTurn, oldestAndNewest } from './containerd-releases.ts';
import { busybox, makePod, serve, shell } from './manifests.ts';

const otherImage = 'localhost/flock:1';

/** The pod `web` with this memory limit of `app`, and this image of `side`. */
const web = (memory: string, image = busybox): object =>
  makePod('web', {
    containers: [
      // The memory that `app` uses is in a file, which cannot be reclaimed.
      shell('app', `dd if=/dev/zero of=/dev/shm/used bs=1024k count=12; ${serve}`, {
        resources: { requests: { memory: '8Mi' }, limits: { memory } },
      }),
      shell('side', serve, { image, resources: { limits: { memory: '16Mi' } } }),
    ],
  });

const mebibyte = 1024 ** 2;

describe.concurrent.each(oldestAndNewest())('changes in place on containerd $release', (containerd) => {
  let agent: Agent;
  let uid: string;

  beforeAll(async () => {
    agent = await Agent.create({ containerd, images: ['busybox.tar', 'flock.tar'] });
    await agent.start();
    await agent.write('web.json', web('32Mi'));
    uid = (await agent.untilReady('web')).pod.metadata.uid;
  });
  afterAll(() => agent.cleanUp());

  const updated = (): Promise<{ code: number | undefined }> =>
    agent.cli(['wait', 'web', '--for', 'updated', '--timeout', '5m']);
  const containers = async (): Promise<{ app: string; side: string }> => ({
    app: (await agent.runningContainer('web', 'app')).id,
    side: (await agent.runningContainer('web', 'side')).id,
  });

  /** Memory limits in MiB: of the container `app`, from its own cgroup, and of its pod. */
  async function limits(): Promise<{ app: number; pod: number }> {
    const { version, controllers } = await readCgroupMounts();
    const top = controllers.get('memory') ?? '';
    const file = version === 1 ? 'memory.limit_in_bytes' : 'memory.max';
    const { pid } = await agent.runningContainer('web', 'app');
    const lines = (await readFile(`/proc/${pid}/cgroup`, 'utf8')).split('\n');
    const line = lines.find((one) => (version === 1 ? one.includes(':memory:') : one.startsWith('0::'))) ?? '';
    const folder = join(top, line.slice(line.indexOf('/')));
    const read = async (path: string): Promise<number> => Number(await readFile(path, 'utf8')) / mebibyte;
    return { app: await read(join(folder, file)), pod: await read(join(folder, '..', file)) };
  }

  test('a resize of memory needs no restart, up and down', inTurn, async () => {
    const before = await containers();
    expect(await limits()).toEqual({ app: 32, pod: 48 });
    await agent.write('web.json', web('64Mi'));
    expect(await updated()).toMatchObject({ code: 0 });
    expect(await limits()).toEqual({ app: 64, pod: 80 });
    await agent.write('web.json', web('24Mi'));
    expect(await updated()).toMatchObject({ code: 0 });
    expect(await limits()).toEqual({ app: 24, pod: 40 });
    expect(await containers()).toEqual(before);
    const { pod } = await agent.untilReady('web');
    expect([pod.metadata.uid, pod.status?.containerStatuses?.map(({ restartCount }) => restartCount)]).toEqual([
      uid,
      [0, 0],
    ]);
  });

  test('a limit below what the container uses is refused, and the pod runs on', inTurn, async () => {
    const before = await containers();
    await agent.write('web.json', web('8Mi'));
    const { waitingUpdate, outdatedContainers } = await agent.untilPod('web', ({ events }) =>
      events.some((event) => event.type === 'Recorded' && event.reason === 'ResizeError'),
    );
    expect([waitingUpdate, outdatedContainers]).toEqual([undefined, ['app']]);
    await agent.write('web.json', web('24Mi'));
    expect(await updated()).toMatchObject({ code: 0 });
    expect(await limits()).toEqual({ app: 24, pod: 40 });
    expect(await containers()).toEqual(before);
  });

  test('another image restarts that container alone', inTurn, async () => {
    const before = await containers();
    await agent.write('web.json', web('24Mi', otherImage));
    expect(await updated()).toMatchObject({ code: 0 });
    const after = await containers();
    expect([after.app === before.app, after.side === before.side]).toEqual([true, false]);
    const { pod } = await agent.untilReady('web');
    expect(pod.metadata.uid).toBe(uid);
  });

  test('a resize while no agent runs follows a kill of it', inTurn, async () => {
    const before = await containers();
    await agent.kill9();
    await agent.write('web.json', web('40Mi', otherImage));
    expect(await agent.cli(['diff', agent.manifestsFolder, '--hostname-override', 'edge1'])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(
        '~ update   default/web-edge1 (resized in place, no container restarts)',
      ) as string,
    });
    await agent.start();
    expect(await updated()).toMatchObject({ code: 0 });
    expect(await limits()).toEqual({ app: 40, pod: 56 });
    expect(await containers()).toEqual(before);
  });
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Agent } from './agent.ts';
import { inTurn, oldestAndNewest } from './containerd-releases.ts';
import { busybox, serve, shell } from './manifests.ts';

const otherImage = 'localhost/flock:1';

/** A Deployment whose pods are Ready a second after they start. */
const web = (image: string): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 3,
    minReadySeconds: 1,
    selector: { matchLabels: { app: 'web' } },
    strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        hostNetwork: true,
        terminationGracePeriodSeconds: 1,
        containers: [
          shell('main', serve, { image, readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1 } }),
        ],
      },
    },
  },
});

describe.concurrent.each(oldestAndNewest())('a Deployment on containerd $release', (containerd) => {
  let agent: Agent;

  beforeAll(async () => {
    agent = await Agent.create({ containerd, images: ['busybox.tar', 'flock.tar'] });
    await agent.start();
    await agent.write('web.json', web(busybox));
  });
  afterAll(() => agent.cleanUp());

  const rolledOut = async (): Promise<string> => {
    const { stdout } = await agent.cli(['rollout', 'status', 'deploy/web', '--timeout', '5m']);
    return stdout.trim().split('\n').at(-1) ?? '';
  };
  const get = async (): Promise<string> => (await agent.cli(['get', 'deploy', '--no-headers'])).stdout;
  const images = async (): Promise<string[]> =>
    (await agent.cli(['ps', '-l', 'app=web', '-o', 'jsonpath={.items[*].spec.containers[0].image}'])).stdout.split(' ');

  test('rolls out a change and goes back', inTurn, async () => {
    expect(await rolledOut()).toBe('deployment "web" successfully rolled out');
    expect(await get()).toMatch(/^default +deployment.apps\/web +3\/3 +3 +3 /);
    await agent.write('web.json', web(otherImage));
    expect(await rolledOut()).toBe('deployment "web" successfully rolled out');
    expect(await images()).toEqual([otherImage, otherImage, otherImage]);
    await agent.cli(['rollout', 'undo', 'deploy/web']);
    expect(await rolledOut()).toBe('deployment "web" successfully rolled out');
    expect(await images()).toEqual([busybox, busybox, busybox]);
  });

  test('is meant as a whole by exec, describe, explain, restart, stop and start', inTurn, async () => {
    const { stdout, stderr } = await agent.cli(['exec', 'deploy/web', '--', 'hostname']);
    expect({ stdout, stderr }).toEqual({
      stdout: expect.stringMatching(/\S/) as string,
      stderr: expect.stringMatching(/^Found 3 pods, using pod\/web-\S+$/m) as string,
    });
    expect((await agent.cli(['describe', 'deploy/web'])).stdout).toMatch(
      /^Replicas: +3 desired \| 3 updated \| 3 total \| 3 available \| 0 unavailable$/m,
    );
    expect((await agent.cli(['explain', 'deploy', 'web'])).stdout).toMatch(
      /^default\/deployment.apps\/web: 3 of 3 pods are available$/m,
    );
    const uids = async (): Promise<string[]> =>
      (await agent.cli(['ps', '-l', 'app=web', '-o', 'jsonpath={.items[*].metadata.uid}'])).stdout.split(' ');
    const before = await uids();
    expect((await agent.cli(['restart', 'deploy/web'])).stdout).toMatch(
      /^deployment.apps\/web restarted\n(.*\n)*deployment "web" successfully rolled out\n$/,
    );
    const after = await uids();
    expect(after.filter((uid) => before.includes(uid))).toEqual([]);
    expect((await agent.cli(['stop', 'deploy/web'])).stdout.match(/^pod\/\S+ stopped$/gm)).toHaveLength(3);
    await agent.cli(['start', 'deploy/web']);
    expect(await rolledOut()).toBe('deployment "web" successfully rolled out');
  });

  test('is scaled, also across a restart of the agent', inTurn, async () => {
    expect((await agent.cli(['scale', 'deploy/web', '--replicas', '1'])).stdout).toBe('deployment.apps/web scaled\n');
    expect(await rolledOut()).toBe('deployment "web" successfully rolled out');
    const before = await agent.runningContainer('web', 'main');
    await agent.stop();
    await agent.start();
    expect(await rolledOut()).toBe('deployment "web" successfully rolled out');
    expect(await get()).toMatch(/^default +deployment.apps\/web +1\/1 +1 +1 /);
    expect((await agent.runningContainer('web', 'main')).id).toBe(before.id);
  });
});

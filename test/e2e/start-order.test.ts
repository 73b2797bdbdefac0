import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { dependsOnAnnotation } from '../../src/api/values/depends-on.ts';
import { type Agent, startAgent } from './agent.ts';
import { freePorts } from './free-ports.ts';
import { makePod, notingPod, serve, shell } from './manifests.ts';

let agent: Agent;

beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.cleanUp());

const restarts = async (name: string): Promise<number | undefined> => {
  const { pod } = await agent.untilReady(name);
  return pod.status?.containerStatuses?.[0]?.restartCount;
};

test('a client starts once its server is Ready, and finds it', async () => {
  const [port = 0] = await freePorts(1);
  const annotations = { [dependsOnAnnotation]: 'server' };
  const client = `wget -qO- http://127.0.0.1:${port}/ && ${serve}`;
  await agent.write('client.yaml', makePod('client', { annotations, containers: [shell('client', client)] }));
  await agent.untilPod('client', ({ pod }) => pod.status?.reason === 'WaitingForPods');
  const waiting = await agent.cli(['ps']);
  expect(waiting.stdout).toMatch(
    /client-edge1 +0\/1 +WaitingForPods +0 .* waiting for server, which no manifest declares$/m,
  );
  expect(waiting.stderr).toBe('');
  expect((await agent.cli(['validate', agent.manifestsFolder])).stdout).toContain(
    'no manifest declares pod default/server',
  );

  const readinessProbe = { httpGet: { port }, periodSeconds: 1 };
  const server = `mkdir /www && echo hello > /www/index.html && exec httpd -f -p ${port} -h /www`;
  await agent.write('server.yaml', makePod('server', { containers: [shell('server', server, { readinessProbe })] }));
  expect(await restarts('client')).toBe(0);
  expect((await agent.cli(['ps'])).stderr).toBe('');
});

test('both are adopted by the next agent while the server is not Ready yet', async () => {
  const before = await agent.runningContainer('client');
  await agent.kill9();
  await agent.start();
  expect(await restarts('client')).toBe(0);
  expect(await agent.runningContainer('client')).toEqual(before);
});

test('run-once gives up on a pod that waits for one that failed', async () => {
  await agent.removeAll();
  await agent.stop();
  // It is never Ready: what is waited for is its end.
  const job = shell('job', 'sleep 1; exit 7', { readinessProbe: { exec: { command: ['false'] } } });
  const annotations = { [dependsOnAnnotation]: 'job' };
  const items = [
    makePod('after', { annotations, restartPolicy: 'Never', containers: [shell('after', 'true')] }),
    makePod('job', { restartPolicy: 'Never', containers: [job] }),
  ];
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  const { code, stderr } = await agent.cli(['run-once', '--rm', '-'], { input });
  expect({ code, stderr }).toEqual({
    code: 125,
    stderr: expect.stringContaining('Waiting for job to be Ready') as string,
  });
});

describe('pods in a chain stop in the reverse of their order', () => {
  const notes = (): string => join(agent.rootDir, 'notes');
  const chain = (): object[] => [
    notingPod(notes(), 'etcd'),
    notingPod(notes(), 'apiserver', { dependsOn: 'etcd' }),
    notingPod(notes(), 'controller', { dependsOn: 'apiserver' }),
  ];
  const stops = (): Promise<string> => readFile(join(notes(), 'log'), 'utf8');
  beforeEach(() => rm(notes(), { recursive: true, force: true }));

  test('by run-once --rm', async () => {
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: chain() });
    const { code } = await agent.cli(['run-once', '--rm', '-'], { input });
    expect({ code, stops: await stops() }).toEqual({ code: 0, stops: 'controller\napiserver\netcd\n' });
  });

  test('by down, which asks the runtime for it', async () => {
    await agent.start();
    await agent.write('chain.json', { apiVersion: 'v1', kind: 'List', items: chain() });
    await agent.untilReady('controller');
    const { code, stdout } = await agent.down();
    expect({ code, stdout, stops: await stops() }).toEqual({
      code: 0,
      stdout:
        'kubelet-ts stopped\npod default/controller-edge1 removed\npod default/apiserver-edge1 removed\npod default/etcd-edge1 removed\n',
      stops: 'controller\napiserver\netcd\n',
    });
  });
});

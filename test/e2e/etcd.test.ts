import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { freePorts } from './free-ports.ts';
import { repository } from './program.ts';

describe.each(containerdReleases().slice(-1))('etcd as a static pod on containerd $release', (containerd) => {
  let agent: Agent;
  let endpoint: string;

  beforeAll(async () => {
    agent = await startAgent({ containerd, images: ['etcd.tar'] });
  });
  afterAll(() => agent.cleanUp());

  const etcdctl = async (...words: string[]): Promise<string> => {
    const env = { ETCDCTL_API: '3' };
    const { all } = await execa('etcdctl', ['--endpoints', endpoint, ...words], { all: true, env });
    return all;
  };
  const restartCount = async (): Promise<number | undefined> => {
    const { pod } = await agent.untilReady('etcd');
    return pod.status?.containerStatuses?.[0]?.restartCount;
  };

  test('is healthy once its manifest is there', async () => {
    const [client = 0, peer = 0, metrics = 0] = await freePorts(3);
    endpoint = `http://127.0.0.1:${client}`;
    const example = await readFile(join(repository, 'manifests/etcd.yaml'), 'utf8');
    const manifest = example
      .replaceAll('2379', String(client))
      .replaceAll('2380', String(peer))
      .replaceAll('2381', String(metrics))
      .replace('path: /var/lib/etcd,', `path: ${agent.rootDir}/etcd-data,`)
      // The startup probe is not waited for.
      .replace('periodSeconds: 10', 'periodSeconds: 1')
      .replace('failureThreshold: 24', 'failureThreshold: 240');
    await agent.write('etcd.yaml', manifest);
    await agent.untilReady('etcd');
    expect(await etcdctl('endpoint', 'health')).toContain(`${endpoint} is healthy`);
    expect(await etcdctl('put', 'city', 'Ulm')).toBe('OK');
  });

  test('runs on while the agent is killed, and is adopted by the next one', async () => {
    const before = await agent.runningContainer('etcd');
    await agent.kill9();
    expect(await etcdctl('get', 'city', '--print-value-only')).toBe('Ulm');
    await agent.start();
    expect(await restartCount()).toBe(0);
    expect(await agent.runningContainer('etcd')).toEqual(before);
  });

  test('is restarted with its data when it is killed', async () => {
    const before = await agent.runningContainer('etcd');
    process.kill(before.pid, 'SIGKILL');
    await agent.untilPod('etcd', ({ pod }) => pod.status?.containerStatuses?.[0]?.restartCount === 1);
    expect(await restartCount()).toBe(1);
    expect(await etcdctl('get', 'city', '--print-value-only')).toBe('Ulm');
  });

  test('is stopped gracefully when its manifest is removed', async () => {
    const logs = agent.spawn(['logs', '-f', '--tail', '1', 'etcd']);
    await once(logs.stdout, 'data');
    await agent.remove('etcd.yaml');
    await agent.untilNoPods();
    expect((await logs).stdout).toContain('received terminated signal, shutting down...');
  });
});

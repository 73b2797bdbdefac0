import { execFileSync } from 'node:child_process';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { ContainerStatus } from '../../src/api/types.ts';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

/** What containers do to the agent that looks after them. */
let agent: Agent;
beforeAll(async () => {
  agent = await startAgent();
});
afterEach(() => agent.removeAll());
afterAll(() => agent.cleanUp());

const names = ['one', 'two', 'three', 'four', 'five', 'six'];
const pipe = { name: 'disk', mountPath: '/dev/termination-log', subPath: 'pipe' };

/** A pod that ends with a named pipe where its termination message is looked for. */
const pipePod = (name: string): object =>
  makePod(name, {
    restartPolicy: 'Never',
    volumes: [{ name: 'disk', emptyDir: {} }],
    initContainers: [shell('pipe', 'mkfifo /disk/pipe', { volumeMounts: [{ name: 'disk', mountPath: '/disk' }] })],
    containers: [shell('app', 'exit 1', { volumeMounts: [pipe] })],
  });

const ended = (status: ContainerStatus | undefined): boolean => status?.state?.terminated !== undefined;

test('named pipes in the place of termination messages hold up nothing, and their pods go', async () => {
  for (const name of names) await agent.write(`${name}.yaml`, pipePod(name));
  for (const name of names) {
    const { pod } = await agent.untilPod(name, ({ pod }) => ended(pod.status?.containerStatuses?.[0]));
    expect(pod.status?.containerStatuses?.[0]?.state?.terminated?.message).toMatch(
      /^Error on reading termination log \S+: \S+ is a named pipe, not a regular file$/,
    );
  }
  await agent.write('web.yaml', makePod('web', { containers: [shell('app', serve)] }));
  await agent.untilReady('web');
  expect((await agent.cli(['ps', '-o', 'name'])).stdout.split('\n').length).toBe(names.length + 2);
});

test('named pipes in the place of logs hold up nothing, and logs says what they are', async () => {
  const fallback = { terminationMessagePolicy: 'FallbackToLogsOnError' };
  for (const name of names) {
    await agent.write(
      `${name}.yaml`,
      makePod(name, { restartPolicy: 'Never', containers: [shell('app', `echo hi; ${serve}; exit 1`, fallback)] }),
    );
  }
  for (const name of names) {
    const { pod } = await agent.untilReady(name);
    const folder = join(agent.podLogsDir, `default_${pod.metadata.name}_${pod.metadata.uid}`, 'app');
    await rename(join(folder, '0.log'), join(folder, 'kept'));
    execFileSync('mkfifo', [join(folder, '0.log')]);
  }
  const { pid } = await agent.runningContainer('one');
  process.kill(pid, 'SIGKILL');
  const { pod } = await agent.untilPod('one', ({ pod }) => ended(pod.status?.containerStatuses?.[0]));
  expect(pod.status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(137);
  const { code, stderr } = await agent.cli(['logs', 'two']);
  expect(code).toBe(1);
  expect(stderr).toMatch(/is a named pipe, not a regular file\n$/);
});

test('named pipes among the files of a pod keep it neither from being restarted nor from being removed', async () => {
  await agent.write('web.yaml', makePod('web', { hostNetwork: false, containers: [shell('app', serve)] }));
  const { pod } = await agent.untilReady('web');
  const folder = join(agent.rootDir, 'pods', pod.metadata.uid);
  const messages = join(folder, 'containers', 'app');
  for (const file of [join(folder, 'etc-hosts'), ...(await readdir(messages)).map((name) => join(messages, name))]) {
    await rm(file);
    execFileSync('mkfifo', [file]);
  }
  process.kill((await agent.runningContainer('web')).pid, 'SIGKILL');
  await agent.untilPod('web', ({ pod }) => pod.status?.containerStatuses?.[0]?.restartCount === 1);
  await agent.untilReady('web');
});

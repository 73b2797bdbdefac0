import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeLogind } from '../fakes/fake-logind.ts';
import { type Agent, startAgent } from './agent.ts';
import { makePod, type NotingPod, notingPod, shell } from './manifests.ts';

let agent: Agent;

beforeAll(async () => {
  agent = await startAgent({
    flags: ['--shutdown-grace-period', '30s', '--shutdown-grace-period-critical-pods', '10s'],
  });
});
afterAll(() => agent.cleanUp());

const noting = (name: string, more?: NotingPod): object => notingPod(join(agent.rootDir, 'notes'), name, more);

test('SIGTERM ends the pods in the reverse of their order, critical ones last, and they run again after the next start', async () => {
  await agent.write('apiserver.yaml', noting('apiserver', { dependsOn: 'etcd', priority: 2_000_001_000 }));
  await agent.write('etcd.yaml', noting('etcd', { priority: 2_000_001_000 }));
  await agent.write('web.yaml', noting('web'));
  for (const name of ['etcd', 'apiserver', 'web']) await agent.untilReady(name);

  expect(await agent.stop()).toEqual({ code: 0, signal: null });
  expect(await readFile(join(agent.rootDir, 'notes/log'), 'utf8')).toBe('web\napiserver\netcd\n');
  for (const name of ['etcd', 'apiserver', 'web']) {
    await expect(agent.runningContainer(name)).rejects.toThrow('no container');
  }

  await agent.start();
  for (const name of ['etcd', 'apiserver', 'web']) await agent.untilReady(name);
});

describe('where logind reports shutdowns', () => {
  let logind: FakeLogind;
  let folder: string;
  let told: Agent;

  beforeAll(async () => {
    folder = await mkdtemp('/tmp/kts-logind-');
    logind = await FakeLogind.start(folder);
    told = await startAgent({
      flags: ['--shutdown-grace-period', '30s', '--shutdown-grace-period-critical-pods', '10s'],
      environment: {
        DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${logind.socketPath}`,
        PATH: `${folder}:${process.env['PATH'] ?? ''}`,
      },
    });
    await told.write('web.yaml', makePod('web', { containers: [shell('web', 'exec sleep 3600')] }));
    await told.untilReady('web');
  });
  afterAll(async () => {
    await told.cleanUp();
    logind.stop();
    await rm(folder, { recursive: true });
  });

  const isHeld = (): Promise<string> => logind.journal.next((entry) => entry.startsWith('locked'));
  const isLetGo = (): Promise<string> => logind.journal.next((entry) => entry === 'unlocked');

  test('SIGTERM lets go of the machine and leaves the pods running', async () => {
    await isHeld();
    const { pid } = await told.runningContainer('web');
    expect(await told.stop()).toEqual({ code: 0, signal: null });
    await isLetGo();
    expect((await told.runningContainer('web')).pid).toBe(pid);
    await told.start();
    await told.untilReady('web');
  });

  test('a crash lets go of the machine', async () => {
    await isHeld();
    await told.kill9();
    await isLetGo();
    await told.start();
    await told.untilReady('web');
  });

  test('the machine waits until the pods ended; they run again when its shutdown is called off', async () => {
    await isHeld();
    logind.prepareForShutdown(true);
    await isLetGo();
    await expect(told.runningContainer('web')).rejects.toThrow('no container');
    logind.prepareForShutdown(false);
    await isHeld();
    await told.untilReady('web');
  });

  test('SIGTERM in the middle of a shutdown waits for the pods, a second one does not', async () => {
    await told.write(
      'slow.yaml',
      makePod('slow', {
        terminationGracePeriodSeconds: 3600,
        containers: [shell('slow', 'trap "" TERM; echo up; while :; do sleep 1; done')],
      }),
    );
    await told.untilReady('slow');
    logind.prepareForShutdown(true);
    await told.untilPod('web', ({ pod }) => pod.status?.phase === 'Failed');
    const since = told.logs.length;
    const exit = told.stop();
    await told.waitForLog(({ msg }) => msg === 'Stopping after the pods; a second signal stops at once', since);
    process.kill(told.pid, 'SIGTERM');
    expect(await exit).toEqual({ code: 0, signal: null });
    await isLetGo();
    // It would keep `down` waiting.
    process.kill((await told.runningContainer('slow')).pid, 'SIGKILL');
  });
});

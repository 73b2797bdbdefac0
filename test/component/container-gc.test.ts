import { mkdir, readdir, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Pod } from '../../src/api/types.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { defaultContainerGCPolicy } from '../../src/engine/gc/container-gc.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { World } from './world.ts';

async function runPod(): Promise<World> {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.set(makeStaticPod('web'));
  await world.until(() => engine.isReady('web-edge1'));
  return world;
}

/** Kills the sandbox of the pod, as a power cut does, and waits for the next one. */
async function loseSandbox(world: World, attempt: number): Promise<void> {
  world.runtime.killSandbox('web-edge1');
  await world.until(() => world.runtime.running().includes(`web-edge1/main#${attempt}`));
}

test('sandboxes of earlier are removed within a minute, but for the one that has the newest end of a container', async () => {
  const world = await runPod();
  await loseSandbox(world, 1);
  await loseSandbox(world, 2);
  expect(await world.inventory()).toContain('web-edge1#0 SANDBOX_NOTREADY');
  await world.until(() => world.runtime.requestsOf('removePodSandbox').length > 0);
  await world.pass(1000);
  expect(await world.inventory()).toEqual([
    'web-edge1#1 SANDBOX_NOTREADY',
    'web-edge1#2 SANDBOX_READY',
    'web-edge1/main#1 CONTAINER_EXITED',
    'web-edge1/main#2 CONTAINER_RUNNING',
  ]);
});

test('pods of others are left alone', async () => {
  const world = await runPod();
  const config = { metadata: { name: 'theirs', namespace: 'default', uid: 'other', attempt: 0 } };
  const { podSandboxId } = await world.runtime.runPodSandbox({ config });
  await world.runtime.stopPodSandbox({ podSandboxId });
  await world.runtime.runPodSandbox({ config: { metadata: { ...config.metadata, attempt: 1 } } });
  await world.pass(61_000);
  expect((await world.inventory()).filter((line) => line.startsWith('theirs'))).toEqual([
    'theirs#0 SANDBOX_NOTREADY',
    'theirs#1 SANDBOX_READY',
  ]);
});

describe('dead containers', () => {
  /** Runs pod `web`, whose container ends `ends` times. */
  async function crashing(ends: number, policy: Partial<typeof defaultContainerGCPolicy>): Promise<World> {
    const world = await World.make();
    const source = new ManualSource();
    const containerGC = { ...defaultContainerGCPolicy, ...policy };
    await world.boot({ sources: [source], node: makeNodeConfig(world.folder, { containerGC }) });
    source.set(makeStaticPod('web'));
    for (let attempt = 0; attempt < ends; attempt++) {
      await world.until(() => world.runtime.running().includes(`web-edge1/main#${attempt}`));
      world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
    }
    await world.until(() => world.runtime.running().includes(`web-edge1/main#${ends}`));
    return world;
  }
  const dead = async (world: World): Promise<string[]> =>
    (await world.inventory()).filter((line) => line.endsWith('CONTAINER_EXITED'));

  test('one of each container stays by default', async () => {
    expect(await dead(await crashing(3, {}))).toEqual(['web-edge1/main#2 CONTAINER_EXITED']);
  });

  test('as many as are asked for stay', async () => {
    expect(await dead(await crashing(4, { maxPerPodContainer: 3 }))).toEqual([
      'web-edge1/main#1 CONTAINER_EXITED',
      'web-edge1/main#2 CONTAINER_EXITED',
      'web-edge1/main#3 CONTAINER_EXITED',
    ]);
  });

  test('with 0 the last one stays for up to a minute', async () => {
    const world = await crashing(2, { maxPerPodContainer: 0 });
    expect(await dead(world)).toEqual(['web-edge1/main#1 CONTAINER_EXITED']);
    await world.pass(61_000);
    expect(await dead(world)).toEqual([]);
    expect(world.runtime.running()).toEqual(['web-edge1/main#2']);
  });

  test('a limit for the node applies in addition to the limit of each container', async () => {
    const world = await crashing(3, { maxPerPodContainer: 2, maxContainers: 1 });
    await world.pass(61_000);
    expect(await dead(world)).toEqual(['web-edge1/main#2 CONTAINER_EXITED']);
  });

  test('younger ones stay', async () => {
    const world = await crashing(1, { maxPerPodContainer: 0, minAgeMs: 180_000 });
    await world.pass(121_000);
    expect(await dead(world)).toEqual(['web-edge1/main#0 CONTAINER_EXITED']);
    await world.pass(120_000);
    expect(await dead(world)).toEqual([]);
  });
});

test('a container that the runtime cannot remove delays no other one', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const containerGC = { ...defaultContainerGCPolicy, maxPerPodContainer: 0 };
  const engine = await world.boot({ sources: [source], node: makeNodeConfig(world.folder, { containerGC }) });
  source.set(makeStaticPod('web'), makeStaticPod('db'));
  for (const pod of ['db-edge1', 'web-edge1']) {
    await world.until(() => world.runtime.running().includes(`${pod}/main#0`));
    world.runtime.exitContainer({ pod, container: 'main' }, 1);
    await world.until(() => world.runtime.running().includes(`${pod}/main#1`));
  }
  const stuck = (await world.runtime.listContainers()).containers.find(({ metadata }) => metadata?.attempt === 0);
  world.runtime.injectError('removeContainer', new Refusal(codes.unknown, 'device or resource busy'), {
    when: ({ containerId }) => containerId === stuck?.id,
  });
  const failed = engine.events.waitFor('Recorded', ({ reason }) => reason === 'ContainerGCFailed');
  await world.pass(61_000);
  const dead = async (): Promise<number> =>
    (await world.inventory()).filter((line) => line.endsWith('CONTAINER_EXITED')).length;
  expect((await failed).message).toBe('1 removal failed: device or resource busy');
  expect(await dead()).toBe(1);
  await world.pass(60_000);
  expect(await dead()).toBe(0);
});

describe('logs without a pod', () => {
  /** A pod that was removed, one that runs, and entries in the folders of logs. */
  async function worldWithLogs() {
    const world = await World.make();
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    const [gone, web] = [makeStaticPod('gone'), makeStaticPod('web')];
    source.set(gone, web);
    await world.until(() => engine.isReady('web-edge1') && engine.isReady('gone-edge1'));
    source.set(web);
    await world.until(() => !world.runtime.running().includes('gone-edge1/main#0'));
    await world.pass(5000);
    const { podLogsDir, containerLogLinksDir } = makeNodeConfig(world.folder);
    const id = (await world.runtime.listContainers()).containers[0]?.id ?? '';
    return { world, gone, web, id, podLogsDir, containerLogLinksDir };
  }

  const nameOf = ({ metadata: { namespace, name, uid } }: Pod): string => `${namespace}_${name}_${uid}`;

  test('go within a minute if the pod was ours', async () => {
    const { world, gone, podLogsDir, containerLogLinksDir } = await worldWithLogs();
    // As a call does that was cut off and is carried out later.
    await mkdir(join(podLogsDir, nameOf(gone), 'main'), { recursive: true });
    const link = join(containerLogLinksDir, 'gone-edge1_default_main-0123456789.log');
    await symlink(join(podLogsDir, nameOf(gone), 'main', '0.log'), link);
    await world.pass(61_000);
    expect((await readdir(podLogsDir)).filter((name) => name === nameOf(gone))).toEqual([]);
    expect(await readdir(containerLogLinksDir)).not.toContain(basename(link));
  });

  test('stay if the pod is that of another owner, or its container may write the log again', async () => {
    const { world, web, id, podLogsDir, containerLogLinksDir } = await worldWithLogs();
    const theirs = 'default_gone-edge1_4b1cf4e0-0000-4000-8000-000000000000';
    await mkdir(join(podLogsDir, theirs, 'main'), { recursive: true });
    await mkdir(join(podLogsDir, 'no pod'));
    const links = {
      'gone-edge1_default_main-0123456789.log': join(podLogsDir, theirs, 'main', '0.log'),
      'other_default_main-0123456789.log': '/elsewhere/main/0.log',
      [`web-edge1_default_main-${id}.log`]: join(podLogsDir, nameOf(web), 'main', '0.log'),
    };
    for (const [name, target] of Object.entries(links)) {
      await symlink(target, join(containerLogLinksDir, name)).catch(() => undefined);
    }
    await world.pass(61_000);
    expect((await readdir(podLogsDir)).sort()).toEqual([nameOf(web), theirs, 'no pod'].sort());
    expect((await readdir(containerLogLinksDir)).sort()).toEqual(Object.keys(links).sort());
  });

  test('go if the container has ended', async () => {
    const { world, web, podLogsDir, containerLogLinksDir } = await worldWithLogs();
    const link = join(containerLogLinksDir, 'web-edge1_default_main-0123456789.log');
    await symlink(join(podLogsDir, nameOf(web), 'main', '7.log'), link);
    await world.pass(61_000);
    expect(await readdir(containerLogLinksDir)).not.toContain(basename(link));
  });
});

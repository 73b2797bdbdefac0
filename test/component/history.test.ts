import { mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Pod } from '../../src/api/types.ts';
import type { EndEntry, EventEntry } from '../../src/engine/history/history-entry.ts';
import { historyFolder, historyPath } from '../../src/engine/history/history-file.ts';
import { makeSecret } from '../builders/config-objects.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const web = { namespace: 'default', name: 'web-edge1' };

const pathOf = (world: World): string => historyPath(historyFolder(world.rootDir), web);

const endsOf = async (engine: Engine): Promise<EndEntry[]> =>
  (await engine.kubelet.history(web)).filter((entry) => entry.kind === 'end');

const eventsOf = async (engine: Engine): Promise<EventEntry[]> =>
  (await engine.kubelet.history(web)).filter((entry) => entry.kind === 'event');

/** Boots a new engine on the same machine, with these pods. */
async function boot(world: World, ...pods: Pod[]): Promise<Engine> {
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.set(...pods);
  return engine;
}

async function running(pod = makeStaticPod('web')): Promise<{ world: World; engine: Engine }> {
  const world = await World.make();
  const engine = await boot(world, pod);
  await world.until(() => engine.isReady('web-edge1'));
  return { world, engine };
}

/** Ends the container, and waits until its next instance runs. */
async function restart(world: World, attempt: number, end: { oom?: boolean } = {}): Promise<void> {
  world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 137, end);
  await world.until(() => world.runtime.running().includes(`web-edge1/main#${attempt}`));
}

/** Deletes everything in the runtime and the logs, as a reboot does on a machine that has both in memory. */
async function loseMachine(world: World): Promise<void> {
  const { items } = await world.runtime.listPodSandbox();
  const { containers } = await world.runtime.listContainers();
  for (const { id } of containers) await world.runtime.removeContainer({ containerId: id });
  for (const { id } of items) await world.runtime.removePodSandbox({ podSandboxId: id });
  await rm(join(world.folder, 'logs'), { recursive: true, force: true });
}

describe('the history of a pod', () => {
  test('reports how its containers ended, and its events, after a restart of the agent too', async () => {
    const { world, engine } = await running();
    await restart(world, 1, { oom: true });
    const ends = await endsOf(engine);
    expect(ends).toMatchObject([{ containerName: 'main', restartCount: 0, exitCode: 137, reason: 'OOMKilled' }]);
    await engine.kill();
    const next = await boot(world, makeStaticPod('web'));
    await world.until(() => next.isReady('web-edge1'));
    expect(await endsOf(next)).toEqual(ends);
    const told = (await eventsOf(next)).map(({ reason, count }) => `${reason} ${count}`);
    expect(told).toEqual(expect.arrayContaining(['Pulling 1', 'Created 2', 'Started 2']));
  });

  test('goes on over the revisions of the pod, and is there when the pod is removed', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    source.set(makeStaticPod('web', { uid: 'first' }));
    await world.until(() => engine.isReady('web-edge1'));
    source.set(makeStaticPod('web', { uid: 'second' }));
    await world.until(() => engine.kubelet.snapshot().pods.length === 1 && engine.isReady('web-edge1'));
    source.set();
    await world.until(() => engine.kubelet.snapshot().pods.length === 0);
    await world.pass(5000);
    expect(new Set((await eventsOf(engine)).map(({ podUID }) => podUID))).toEqual(new Set(['first', 'second']));
  });

  test('is written in batches into a file that only its owner may read', async () => {
    const { world } = await running();
    await world.pass(5000);
    expect((await stat(pathOf(world))).mode & 0o777).toBe(0o600);
    const { mtimeMs } = await stat(pathOf(world));
    await world.pass(60_000);
    expect((await stat(pathOf(world))).mtimeMs).toBe(mtimeMs);
  });

  test('is the same again when the last write was cut at any byte', async () => {
    const { world, engine } = await running();
    await restart(world, 1);
    await engine.kill();
    const whole = await readFile(pathOf(world));
    const lastLine = whole.lastIndexOf('\n', -2) + 1;
    for (const cut of [lastLine, lastLine + 1, Math.floor((lastLine + whole.length) / 2), whole.length - 1]) {
      await writeFile(pathOf(world), whole);
      await truncate(pathOf(world), cut);
      const next = await boot(world, makeStaticPod('web'));
      await world.until(() => next.isReady('web-edge1'));
      expect(await endsOf(next)).toHaveLength(1);
      await next.kill();
    }
  });

  test('costs no pod anything while it cannot be written, and is written when it can be again', async () => {
    const world = await World.make();
    const folder = historyFolder(world.rootDir);
    await mkdir(join(folder, '..'), { recursive: true });
    // A file has the name of the folder.
    await writeFile(folder, '');
    const engine = await boot(world, makeStaticPod('web'));
    await world.until(() => engine.isReady('web-edge1'));
    await restart(world, 1);
    expect(await endsOf(engine)).toHaveLength(1);
    await rm(folder);
    await world.pass(40_000);
    expect(await readFile(pathOf(world), 'utf8')).toContain('"restartCount":0');
    expect(await readdir(folder)).toEqual(['default_web-edge1.jsonl']);
  });
});

describe('a restart count', () => {
  test('continues when the runtime and the logs have lost everything', async () => {
    const { world, engine } = await running();
    await restart(world, 1);
    await restart(world, 2);
    await engine.kill();
    await loseMachine(world);
    const next = await boot(world, makeStaticPod('web'));
    await world.until(() => next.isReady('web-edge1'));
    expect(world.runtime.running()).toEqual(['web-edge1/main#3']);
  });

  test('continues when the agent was killed right after a start, and the runtime and the logs have lost everything', async () => {
    const { world, engine } = await running();
    await restart(world, 1);
    engine.crash();
    await loseMachine(world);
    const next = await boot(world, makeStaticPod('web'));
    await world.until(() => next.isReady('web-edge1'));
    expect(world.runtime.running()).toEqual(['web-edge1/main#2']);
  });

  test('starts over with a pod that the runtime had lost before it was removed', async () => {
    const { world, engine } = await running();
    await restart(world, 1);
    await engine.kill();
    await loseMachine(world);
    const next = await boot(world);
    await world.until(async () => (await readdir(join(world.rootDir, 'pods'))).length === 0);
    await next.kill();
    const last = await boot(world, makeStaticPod('web'));
    await world.until(() => last.isReady('web-edge1'));
    expect(world.runtime.running()).toEqual(['web-edge1/main#0']);
  });

  test('starts over with a pod that was removed and is declared again', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    source.set(makeStaticPod('web'));
    await world.until(() => engine.isReady('web-edge1'));
    await restart(world, 1);
    source.set();
    await world.until(() => engine.kubelet.snapshot().pods.length === 0);
    source.set(makeStaticPod('web'));
    await world.until(() => engine.isReady('web-edge1'));
    expect(world.runtime.running()).toEqual(['web-edge1/main#0']);
  });
});

describe('what a Secret or a variable holds', () => {
  const secret = makeSecret('login', { password: 'hunter2-hunter2' });
  const pod = makeStaticPod('web', {
    spec: {
      containers: [
        {
          name: 'main',
          image: 'app:1',
          env: [
            { name: 'TOKEN', value: 'plain-token-value' },
            { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'login', key: 'password' } } },
          ],
          command: ['$(PASSWORD)', '$(TOKEN)'],
        },
      ],
    },
  });
  const refusal = new Refusal(codes.unknown, 'exec: "hunter2-hunter2 plain-token-value": executable file not found');

  async function historyText(world: World): Promise<string> {
    const folder = historyFolder(world.rootDir);
    const files = await readdir(folder);
    return (await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))).join('');
  }

  test('is in no history, whatever reports it', async () => {
    const world = await World.make();
    world.runtime.injectError('startContainer', refusal, { times: 1 });
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    source.setConfigObjects(secret);
    source.set(pod);
    await world.until(() => engine.isReady('web-edge1'));
    // Removes the Secret and the pod at the same time.
    world.runtime.injectError('stopContainer', refusal, { times: 1 });
    source.setConfigObjects();
    source.set();
    await world.until(() => engine.kubelet.snapshot().pods.length === 0);
    await engine.kill();
    const text = await historyText(world);
    expect(text).toContain('exec: \\"<hidden> <hidden>\\": executable file not found');
    expect(text).not.toMatch(/hunter2|plain-token/);
  });
});

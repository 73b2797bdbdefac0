import { expect, test } from 'vitest';
import { makeStaticPod } from '../builders/static-pod.ts';
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

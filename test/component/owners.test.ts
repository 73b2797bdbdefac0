import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RootOwner } from '../../src/engine/container/root-owner.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const image = 'registry.example/app:1';

/** Two root-dirs on one runtime, with the same node name. */
async function twoOwners(): Promise<{ world: World; boot: (digit: 1 | 2) => Promise<Agent> }> {
  const world = await World.make();
  const boot = async (digit: 1 | 2): Promise<Agent> => {
    const rootDir = join(world.folder, `root${digit}`);
    await mkdir(rootDir, { recursive: true });
    const owner: RootOwner = { id: String(digit).repeat(18), rootDir, since: world.clock.now() };
    const source = new ManualSource();
    return { engine: await world.boot({ sources: [source], owner }), source, rootDir };
  };
  return { world, boot };
}

interface Agent {
  engine: Engine;
  source: ManualSource;
  rootDir: string;
}

const web = makeStaticPod('web', { uid: 'web', spec: { containers: [{ name: 'main', image }] } });
const other = makeStaticPod('other', { uid: 'other', spec: { containers: [{ name: 'main', image }] } });

test('two agents with the same pods: the second says who has them, and touches nothing of the first', async () => {
  const { world, boot } = await twoOwners();
  const first = await boot(1);
  first.source.set(web);
  await world.until(() => first.engine.isReady('web-edge1'));
  const second = await boot(2);
  second.source.set(web, other);
  await world.until(() => second.engine.isReady('other-edge1'));
  expect(second.engine.pod('web-edge1')?.pod.status).toMatchObject({
    phase: 'Failed',
    reason: 'PodUIDTaken',
    message:
      `Pod was rejected: UID web belongs to a pod of the kubelet-ts of --root-dir ${first.rootDir}; ` +
      'this pod starts when that one is removed. The agent tries again as soon as a pod stops.',
  });
  await world.pass(120_000);
  second.source.set(other);
  await world.pass(120_000);
  expect(world.runtime.running()).toEqual(['other-edge1/main#0', 'web-edge1/main#0']);
  expect(await readdir(join(second.rootDir, 'pods'))).toEqual(['other']);
  expect(world.runtime.calls.filter(({ method }) => /^(?:stop|remove)/.test(method))).toEqual([]);
});

test('the second starts a pod as soon as the first removed it', async () => {
  const { world, boot } = await twoOwners();
  const first = await boot(1);
  first.source.set(web);
  await world.until(() => first.engine.isReady('web-edge1'));
  const second = await boot(2);
  second.source.set(web);
  await world.until(() => second.engine.phase('web-edge1') === 'Failed');
  first.source.set();
  await world.until(() => first.engine.pod('web-edge1') === undefined);
  const freedAt = world.clock.now();
  await world.until(() => second.engine.isReady('web-edge1'));
  expect(world.clock.now() - freedAt).toBeLessThan(5000);
  expect(world.runtime.maxConcurrentRunning('web-edge1', 'main')).toBe(1);
});

test('if two agents start at the same moment, one gets the pod and the other removes nothing of it', async () => {
  const { world, boot } = await twoOwners();
  const [first, second] = [await boot(1), await boot(2)];
  first.source.set(web);
  second.source.set(web);
  await world.until(() => [first, second].some(({ engine }) => engine.isReady('web-edge1')));
  await world.pass(120_000);
  const [winner, loser] = first.engine.isReady('web-edge1') ? [first, second] : [second, first];
  loser.source.set();
  await world.pass(120_000);
  expect(winner.engine.isReady('web-edge1')).toBe(true);
  expect(world.runtime.running()).toEqual(['web-edge1/main#0']);
  expect(await readdir(join(loser.rootDir, 'pods'))).toEqual([]);
});

test('each adopts its own pods after a restart, and no others', async () => {
  const { world, boot } = await twoOwners();
  const [first, second] = [await boot(1), await boot(2)];
  first.source.set(web);
  second.source.set(other);
  await world.until(() => first.engine.isReady('web-edge1') && second.engine.isReady('other-edge1'));
  await first.engine.kill();
  const again = await boot(1);
  again.source.set(web);
  await world.until(() => again.engine.isReady('web-edge1'));
  await world.pass(120_000);
  expect(world.runtime.running()).toEqual(['other-edge1/main#0', 'web-edge1/main#0']);
  expect(again.engine.pod('other-edge1')).toBeUndefined();
});

import { expect, test } from 'vitest';
import type { Pod } from '../../src/api/types.ts';
import { newStats } from '../../src/engine/build/new-stats.ts';
import type { Summary } from '../../src/engine/stats/summary.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const image = 'registry.example/app:1';
const podOf = (name: string): Pod =>
  makeStaticPod(name, { uid: name, spec: { containers: [{ name: 'main', image }] } });

/** A machine whose runtime is all that measures pods. */
async function run(...names: string[]): Promise<{ world: World; engine: Engine; source: ManualSource }> {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source], newStats });
  source.set(...names.map(podOf));
  for (const name of names) await world.until(() => engine.isReady(`${name}-edge1`));
  return { world, engine, source };
}

/** The statistics that are measured now. */
async function measured(world: World, engine: Engine): Promise<Summary> {
  let summary: Summary | undefined;
  void engine.kubelet.summary({ maxAgeMs: 0 }).then((answer) => (summary = answer));
  await world.until(() => summary !== undefined);
  if (summary === undefined) throw new Error('there are no statistics');
  return summary;
}

const namesIn = ({ pods }: Summary): string[] =>
  pods.map(({ podRef, containers }) => `${podRef.name}: ${containers.map(({ name }) => name).join()}`);

test('statistics show the pods that run, and not those that ended', async () => {
  const { world, engine, source } = await run('dns', 'web');
  expect(namesIn(await measured(world, engine))).toEqual(['dns-edge1: main', 'web-edge1: main']);
  source.set(podOf('web'));
  await world.until(() => engine.pod('dns-edge1') === undefined);
  expect(namesIn(await measured(world, engine))).toEqual(['web-edge1: main']);
});

test('nothing is measured while nobody asks', async () => {
  const { world, engine } = await run('web');
  await world.pass(600_000);
  expect(world.runtime.requestsOf('listContainerStats')).toEqual([]);
  await measured(world, engine);
  expect(world.runtime.requestsOf('listContainerStats')).toHaveLength(1);
});

test('a runtime whose statistics hang delays neither syncs nor, for more than two seconds, the statistics', async () => {
  const { world, engine, source } = await run('web');
  for (const method of ['listContainerStats', 'listPodSandboxStats', 'imageFsInfo'] as const)
    world.runtime.hang(method);
  const askedAt = world.clock.now();
  const asked = engine.kubelet.summary({ maxAgeMs: 0 });
  source.set(podOf('web'), podOf('dns'));
  await world.until(() => engine.isReady('dns-edge1'));
  expect(world.clock.now() - askedAt).toBeLessThan(2000);
  await world.pass(2000);
  expect(namesIn(await asked)).toEqual(['web-edge1: main']);
  // The calls are not made again at once.
  const againAt = world.clock.now();
  expect(namesIn(await measured(world, engine))).toEqual(['dns-edge1: main', 'web-edge1: main']);
  expect(world.clock.now() - againAt).toBeLessThan(1000);
});

test('a runtime that lies about a container leaves its figures out', async () => {
  const { world, engine } = await run('web');
  const [container] = (await world.runtime.listContainers()).containers;
  const [now, minusOne] = [BigInt(world.clock.now()) * 1_000_000n, 2n ** 64n - 1n];
  world.runtime.stats.set(container?.id ?? '', {
    cpu: { timestamp: now * 2n, usageCoreNanoSeconds: { value: 7n } },
    memory: { timestamp: now, usageBytes: { value: minusOne }, workingSetBytes: { value: 10n } },
    writableLayer: { timestamp: -now, fsId: { mountpoint: '/' }, usedBytes: { value: 5n } },
  });
  const { pods } = await measured(world, engine);
  const memory = { time: new Date(Number(now / 1_000_000n)).toISOString(), workingSetBytes: 10 };
  expect(pods.map(({ containers, memory: ofPod }) => [containers, ofPod])).toEqual([
    [[{ name: 'main', startTime: expect.any(String) as string, memory }], memory],
  ]);
});

import { mkdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { nodeWarnings } from '../../src/engine/listing/node-warnings.ts';
import type { WorkloadSnapshot } from '../../src/engine/view/snapshot.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { fillUntilFreed, mountSmallDisk, setReadOnly } from '../support/full-disk.ts';
import { type Engine, World } from './world.ts';

/**
 * Ways in which a disk takes no more records, each with how far a rollout goes meanwhile. Each resolves with a function
 * that ends it.
 */
const faults = [
  ['full', fillUntilFreed, { updated: 2 }],
  ['read-only', setReadOnly, { updated: 1, waits: 'CreateContainerConfigError' }],
] as const;

async function smallWorld(exitAfterMs?: number): Promise<World> {
  const world = await World.make();
  for (const image of ['app:1', 'app:2']) world.runtime.addImage(image);
  if (exitAfterMs !== undefined) world.runtime.script('main', { exitAfterMs });
  await mkdir(world.rootDir);
  await mountSmallDisk(world.rootDir, 512);
  return world;
}

async function boot(world: World, text: string): Promise<Engine> {
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.setManifest(text);
  return engine;
}

/** How often a container of each pod was created. */
function startsOf(world: World): Record<string, number> {
  const starts: Record<string, number> = {};
  for (const { sandboxConfig } of world.runtime.requestsOf('createContainer')) {
    const name = (sandboxConfig?.metadata?.name ?? '').replace('-edge1', '');
    starts[name] = (starts[name] ?? 0) + 1;
  }
  return starts;
}

const workloadOf = (engine: Engine): WorkloadSnapshot | undefined => engine.kubelet.snapshot().workloads?.[0];
const failureOf = (engine: Engine): string | undefined =>
  workloadOf(engine)?.conditions.find(({ type }) => type === 'ReplicaFailure')?.message;
const notWritten = expect.stringMatching(
  /^its record cannot be written, trying again: (ENOSPC: no space left on device|EROFS: read-only file system)/,
) as unknown;

const template = 'template: {spec: {restartPolicy: Never, containers: [{name: main, image: app:1}]}}';
const job = `apiVersion: batch/v1\nkind: Job\nmetadata: {name: pi}\nspec: {completions: 3, ${template}}`;

describe.each(faults)('on a %s disk', (_what, fault, rollout) => {
  test('a Job starts no pod before its record has it, says why, and continues when there is room', async () => {
    const world = await smallWorld(20_000);
    let engine = await boot(world, job);
    await world.until(() => world.runtime.running().length === 1);
    const end = await fault(world.rootDir);
    await world.pass(60_000);
    expect({ starts: startsOf(world), why: failureOf(engine) }).toEqual({ starts: { pi: 1 }, why: notWritten });
    expect(engine.messages('RecordNotWritten')).toHaveLength(1);
    expect(nodeWarnings(engine.kubelet.snapshot(), { wide: false, now: world.clock.now() })).toEqual([
      `warning: Job default/pi: ${failureOf(engine) ?? ''}`,
    ]);
    engine.crash();
    engine = await boot(world, job);
    await world.pass(60_000);
    expect({ starts: startsOf(world), why: failureOf(engine) }).toEqual({ starts: { pi: 1 }, why: notWritten });
    await end();
    await world.until(() => engine.messages('Completed').length === 1);
    expect({ starts: startsOf(world), why: failureOf(engine) }).toEqual({ starts: { pi: 1, 'pi-1': 1, 'pi-2': 1 } });
  });

  test('a run of a CronJob begins once there is room, once', async () => {
    const world = await smallWorld(1000);
    const text = `apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: pi}\nspec: {schedule: "@hourly", jobTemplate: {spec: {${template}}}}`;
    const engine = await boot(world, text);
    await world.pass(5000);
    const end = await fault(world.rootDir);
    await world.leap(3_600_000);
    await world.pass(60_000);
    expect({ starts: startsOf(world), why: failureOf(engine) }).toEqual({ starts: {}, why: notWritten });
    await end();
    await world.until(() => engine.messages('Completed').length === 1);
    expect({ starts: Object.values(startsOf(world)), why: failureOf(engine) }).toEqual({ starts: [1] });
  });

  test('a rollout continues or waits with a reason, and no request of an operator is accepted', async () => {
    const world = await smallWorld();
    const manifest = (image: string): string =>
      `apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3, strategy: {rollingUpdate: {maxSurge: 0}}, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: "${image}"}]}}}`;
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    source.setManifest(manifest('app:1'));
    await world.until(() => workloadOf(engine)?.available === 3);
    const workload = { kind: 'Deployment', namespace: 'default', name: 'web' } as const;
    await engine.kubelet.operateWorkload({ action: 'scale', workload, replicas: 2 });
    await world.until(() => engine.kubelet.snapshot().pods.length === 2);
    const end = await fault(world.rootDir);
    await expect(engine.kubelet.operateWorkload({ action: 'scale', workload, replicas: 1 })).rejects.toThrow(
      /^nothing was done, because it cannot be written: /,
    );
    source.setManifest(manifest('app:2').replace('replicas: 3', 'replicas: 2'));
    await world.pass(60_000);
    expect({ updated: workloadOf(engine)?.updated, waits: engine.waitingReason('web-edge1') }).toEqual(rollout);
    await end();
    await world.until(() => workloadOf(engine)?.updated === 2 && workloadOf(engine)?.available === 2);
    await world.pass(10_000);
    expect({ why: failureOf(engine), running: world.runtime.running() }).toEqual({
      running: ['web-1-edge1/main#1', 'web-edge1/main#1'],
    });
  });
});

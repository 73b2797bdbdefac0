import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { World } from './world.ts';

test('a running pod loses what MemoryQoS set once its gate is off', async () => {
  const world = await World.make();
  const node = makeNodeConfig(world.folder, { cgroupsPerQOS: true });
  const resources = { ...node.containerNode.resources, cgroupVersion: 2 as const };
  const withQoS = (memoryQoS?: typeof resources.memoryQoS): typeof node => ({
    ...node,
    containerNode: { ...node.containerNode, resources: { ...resources, memoryQoS } },
  });
  const main = { name: 'main', image: 'app', resources: { requests: { memory: '64Mi' } } };
  const web = makeStaticPod('web', { spec: { containers: [main, { name: 'plain', image: 'app' }] } });
  const source = new ManualSource();
  source.set(web);
  const first = await world.boot({
    sources: [source],
    node: withQoS({ throttlingFactor: 0.9, allocatableMemoryBytes: 2n ** 33n, reservesMemory: true }),
  });
  await world.until(() => first.isReady('web-edge1'));
  await first.kill();

  const cgroup = `kubepods/burstable/pod${web.metadata.uid}`;
  const files = join(world.folder, 'cgroups', cgroup);
  await world.cgroups.write(join(files, 'cgroup.subtree_control'), '+memory');
  for (const id of ['container2', 'container3']) await world.cgroups.makeFolder(join(files, id));
  await world.cgroups.write(join(files, 'container2/memory.high'), '7516192768');
  expect(await world.cgroups.settings(cgroup)).toMatchObject({ 'memory.low': '67108864' });

  const second = await world.boot({ sources: [source], node: withQoS() });
  await world.until(() => second.isReady('web-edge1'));
  await world.pass(1000);
  expect(await world.cgroups.settings(cgroup)).toMatchObject({ 'memory.min': '0', 'memory.low': '0' });
  const updates = world.runtime.requestsOf('updateContainerResources');
  expect(updates.map(({ containerId, linux }) => [containerId, linux?.unified])).toEqual([
    ['container2', { 'memory.min': '0', 'memory.low': '0', 'memory.high': 'max' }],
  ]);
  expect(world.runtime.running()).toEqual(['web-edge1/main#0', 'web-edge1/plain#0']);
});

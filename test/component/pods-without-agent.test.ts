import { expect, test } from 'vitest';
import type { Pod, RawPod } from '../../src/api/types.ts';
import { podsFromRuntime } from '../../src/node/pods-from-runtime.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { World } from './world.ts';

const container = (name: string): NonNullable<RawPod['spec']>['containers'][number] => ({
  name,
  image: 'app:1',
  env: [{ name: 'PASSWORD', value: 'hunter2' }],
});

const kinds: Record<string, Partial<RawPod['spec']>> = {
  'a finished init container': { initContainers: [container('init')], containers: [container('main')] },
  'a sidecar': { initContainers: [{ ...container('side'), restartPolicy: 'Always' }], containers: [container('main')] },
  'a container that completed': { restartPolicy: 'OnFailure', containers: [container('job'), container('main')] },
};

const shown = ({ status }: Pick<Pod, 'status'>): object => ({
  phase: status?.phase,
  conditions: status?.conditions?.map(({ type, status: value }) => `${type} ${value}`),
  initContainerStatuses: status?.initContainerStatuses,
  containerStatuses: status?.containerStatuses,
});

test.each(
  Object.entries(kinds).flatMap(([kind, spec]) => [
    { kind, spec, isRemoved: false },
    { kind, spec, isRemoved: true },
  ]),
)('without an agent a pod with $kind is shown as with one, removed from the runtime: $isRemoved', async (given) => {
  const world = await World.make();
  for (const name of ['init', 'job']) world.runtime.script(name, { exitAfterMs: 1000 });
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.set(makeStaticPod('web', { spec: given.spec }));
  await world.until(() => world.runtime.running().includes('web-edge1/main#0'));
  await world.pass(5000);
  const withAgent = engine.pod('web-edge1')?.pod;
  await engine.kill();
  if (given.isRemoved) {
    const { containers } = await world.runtime.listContainers();
    for (const { id, state } of containers)
      if (state === 'CONTAINER_EXITED') await world.runtime.removeContainer({ containerId: id });
  }
  const [withoutAgent, ...others] = await podsFromRuntime(world.runtime, world.rootDir);
  if (withAgent === undefined || withoutAgent === undefined) throw new Error('there is no pod');
  expect({ ...shown(withoutAgent), others, text: JSON.stringify(withoutAgent).includes('hunter2') }).toEqual({
    ...shown(withAgent),
    others: [],
    text: false,
  });
});

import { expect, test } from 'vitest';
import type { Pod, RawPod } from '../../src/api/types.ts';
import { podsFromRuntime } from '../../src/node/pods-from-runtime.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { World } from './world.ts';
import { defaultFeatureGates } from '../../src/api/values/feature-gates.ts';
import { readCurrentNode } from '../../src/node/diff/read-current-node.ts';
import { readKeptManifests } from '../../src/node/diff/read-kept-manifests.ts';
import type { CurrentPod } from '../../src/node/diff/node-state.ts';
import type { RuntimeConnection } from '../../src/node/runtime-connection.ts';

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

const completions: Record<string, { spec: Partial<RawPod['spec']>; exitCodes?: Record<string, number> }> = {
  'a job that completed': { spec: { restartPolicy: 'Never', containers: [container('job')] } },
  'a job that failed': { spec: { restartPolicy: 'Never', containers: [container('job')] }, exitCodes: { job: 3 } },
  'a job with an init container and a sidecar': {
    spec: {
      restartPolicy: 'OnFailure',
      initContainers: [container('init'), { ...container('side'), restartPolicy: 'Always' }],
      containers: [container('job')],
    },
  },
  'a job whose init container failed': {
    spec: { restartPolicy: 'Never', initContainers: [container('init')], containers: [container('job')] },
    exitCodes: { init: 1 },
  },
  'a pod past its deadline': { spec: { activeDeadlineSeconds: 5, containers: [container('main')] } },
};

/** A world in which this pod has ended for good and its agent too, and the runtime has lost everything. */
async function lostByRuntime({
  spec,
  exitCodes = {},
}: (typeof completions)[string]): Promise<{ world: World; withAgent: Pod | undefined }> {
  const world = await World.make();
  for (const name of ['init', 'job']) world.runtime.script(name, { exitAfterMs: 1000, exitCode: exitCodes[name] ?? 0 });
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.set(makeStaticPod('web', { spec }));
  await world.until(() => engine.pod('web-edge1')?.worker.state === 'finished');
  const withAgent = engine.pod('web-edge1')?.pod;
  await engine.kill();
  world.runtime.reboot({ forgets: true });
  return { world, withAgent };
}

test.each(Object.entries(completions))(
  'without an agent %s is shown as with one, although the runtime lost it',
  async (_kind, given) => {
    const { world, withAgent } = await lostByRuntime(given);
    const [withoutAgent, ...others] = await podsFromRuntime(world.runtime, world.rootDir);
    if (withAgent === undefined || withoutAgent === undefined) throw new Error('there is no pod');
    expect({ ...shown(withoutAgent), others, text: JSON.stringify(withoutAgent).includes('hunter2') }).toEqual({
      ...shown(withAgent),
      others: [],
      text: false,
    });
  },
);

test('a pod that ran when the runtime lost it is not shown without an agent', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.set(makeStaticPod('web', { spec: { containers: [container('main')] } }));
  await world.until(() => engine.isReady('web-edge1'));
  await engine.kill();
  world.runtime.reboot({ forgets: true });
  expect(await podsFromRuntime(world.runtime, world.rootDir)).toEqual([]);
});

/** The pods that diff compares with while no agent runs. */
async function currentPods({ runtime, rootDir }: World): Promise<Pick<CurrentPod, 'left' | 'undeclared'>[]> {
  const connect = (): Promise<RuntimeConnection> =>
    Promise.resolve({ runtime, images: runtime, listAllContainers: runtime.listContainers, close: () => undefined });
  const node = { rootDir, snapshot: undefined };
  const { manifests: kept } = await readKeptManifests({
    ...{ ...node, nodeName: 'edge1', featureGates: defaultFeatureGates, now: 0 },
  });
  const { pods } = await readCurrentNode({ ...node, kept, connect, containerRuntimeEndpoint: undefined });
  return pods.map(({ pod: { metadata }, left, undeclared }) => ({
    name: metadata.name,
    ...(left !== undefined && { left }),
    ...(undeclared !== undefined && { undeclared }),
  }));
}

test.each(Object.entries(completions))('diff without an agent knows %s that the runtime lost', async (_kind, given) => {
  const { world } = await lostByRuntime(given);
  expect(await currentPods(world)).toEqual([{ name: 'web-edge1', left: 'ended' }]);
});

test('diff without an agent knows which pods run, and which ones a start kept', async () => {
  const world = await World.make();
  const [first, second] = [new ManualSource(), new ManualSource()];
  const engine = await world.boot({ sources: [first] });
  first.set(makeStaticPod('web', { spec: { containers: [container('main')] } }));
  await world.until(() => engine.isReady('web-edge1'));
  await engine.kill();
  expect(await currentPods(world)).toEqual([{ name: 'web-edge1', left: 'running' }]);
  const next = await world.boot({ sources: [second] });
  second.set();
  await world.until(() => next.pod('web-edge1')?.isUndeclared === true);
  await next.kill();
  expect(await currentPods(world)).toEqual([{ name: 'web-edge1', left: 'running', undeclared: 'kept' }]);
});

import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { defaultFeatureGates } from '../../src/api/values/feature-gates.ts';
import { nodeDiffText } from '../../src/commands/diff/node-diff-text.ts';
import { LastGoodManifests } from '../../src/engine/config/last-good/last-good-manifests.ts';
import type { WorkloadRequest } from '../../src/engine/workloads/workload-operations.ts';
import { computeNodeDiff } from '../../src/node/diff/compute-node-diff.ts';
import { readCurrentNode } from '../../src/node/diff/read-current-node.ts';
import { readKeptManifests } from '../../src/node/diff/read-kept-manifests.ts';
import { readDesiredNode } from '../../src/node/diff/read-desired-node.ts';
import type { RuntimeConnection } from '../../src/node/runtime-connection.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { type Engine, World } from './world.ts';

interface Machine {
  world: World;
  engine: Engine;
  /** Declares this manifest in `pods/all.yaml`. */
  declare: (text: string) => Promise<void>;
}

async function booted(): Promise<Machine> {
  const world = await World.make();
  for (const image of ['app:1', 'app:2']) world.runtime.addImage(image);
  const path = join(world.folder, 'pods', 'all.yaml');
  const source = new ManualSource('file', path);
  const engine = await world.boot({ sources: [source] });
  const lastGood = new LastGoodManifests({ rootDir: world.rootDir, clock: world.clock, logger: silentLogger });
  const declare = async (text: string): Promise<void> => {
    source.setManifest(text);
    await lastGood.save('file', path, Buffer.from(text));
  };
  return { world, engine, declare };
}

type Snapshot = ReturnType<Engine['kubelet']['snapshot']>;

/** What diff prints about a manifest in this folder. Without a snapshot no agent runs. */
async function diff({ world }: Machine, text: string, folder: string, snapshot?: Snapshot): Promise<string> {
  const { rootDir, runtime } = world;
  const path = join(world.folder, folder, 'all.yaml');
  await mkdir(join(world.folder, folder), { recursive: true });
  await writeFile(path, text);
  const connect = (): Promise<RuntimeConnection> =>
    Promise.resolve({ runtime, images: runtime, listAllContainers: runtime.listContainers, close: () => undefined });
  const node = { nodeName: 'edge1', featureGates: defaultFeatureGates };
  const known = { ...node, rootDir, snapshot, now: world.clock.now() };
  const { manifests: kept, workloads } = await readKeptManifests(known);
  const sources = { manifests: [path], stdin: undefined, remote: [], runtimeClasses: [] };
  const desired = await readDesiredNode({ ...node, ...sources, workloads });
  const current = await readCurrentNode({ rootDir, containerRuntimeEndpoint: undefined, kept, snapshot, connect });
  return nodeDiffText(computeNodeDiff(current, desired), false);
}

/** The same in the folder that the agent reads, and in a clone of it; then without an agent. */
async function diffs(machine: Machine, text: string): Promise<string[]> {
  const snapshot = machine.engine.kubelet.snapshot();
  const withAgent = [await diff(machine, text, 'pods', snapshot), await diff(machine, text, 'clone', snapshot)];
  await machine.engine.kill();
  return [...withAgent, await diff(machine, text, 'pods'), await diff(machine, text, 'clone')];
}

const four = <T>(each: T): T[] => [each, each, each, each];

function deployment(image: string, replicas = 1): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: ${replicas}
  template: {spec: {containers: [{name: main, image: '${image}'}]}}
`;
}

const images = ({ engine }: Machine): string =>
  engine.kubelet
    .snapshot()
    .pods.filter(({ pod }) => engine.isReady(pod.metadata.name))
    .map(({ pod }) => `${pod.metadata.name} ${pod.spec.containers[0]?.image ?? ''}`)
    .join();

const act = ({ engine }: Machine, request: Omit<WorkloadRequest, 'workload'>): Promise<string> =>
  engine.kubelet.operateWorkload({ workload: { kind: 'Deployment', namespace: 'default', name: 'web' }, ...request });

test('pods of a scaled workload stay until the manifest changes the count, and change with their template', async () => {
  const machine = await booted();
  await machine.declare(deployment('app:1'));
  await machine.world.until(() => images(machine) === 'web-edge1 app:1');
  await act(machine, { action: 'scale', replicas: 2 });
  await machine.world.until(() => images(machine) === 'web-1-edge1 app:1,web-edge1 app:1');
  const snapshot = machine.engine.kubelet.snapshot();
  const image = '      spec.containers[0].image: "app:1" → "app:2"\n';
  const restarts = `~ restart  default/web-1-edge1 (container main)\n${image}~ restart  default/web-edge1 (container main)\n${image}`;
  expect(await diff(machine, deployment('app:2'), 'clone', snapshot)).toBe(`${restarts}2 to restart\n`);
  const start = '+ start    default/web-2-edge1 (no pod with this name runs)\n';
  expect(await diff(machine, deployment('app:2', 3), 'clone', snapshot)).toBe(
    restarts.replace('~ restart  default/web-edge1', `${start}$&`) + '1 to start, 2 to restart\n',
  );
  const stops = `- stop     default/web-1-edge1 (no manifest declares it)\n- stop     default/web-edge1 (no manifest declares it)\n2 to stop\n`;
  expect(await diff(machine, deployment('app:1', 0), 'clone', snapshot)).toBe(stops);
  expect(await diffs(machine, deployment('app:1'))).toEqual(
    four('= stay     default/web-1-edge1\n= stay     default/web-edge1\n2 to stay\n'),
  );
  expect(await diff(machine, deployment('app:1', 0), 'pods')).toBe(stops);
});

test('a damaged record counts as none, and stays for the agent to report', async () => {
  const machine = await booted();
  await machine.declare(deployment('app:1'));
  await machine.world.until(() => images(machine) === 'web-edge1 app:1');
  await act(machine, { action: 'pause' });
  const records = join(machine.world.rootDir, 'state', 'workloads');
  const names = await readdir(records);
  for (const name of names) await writeFile(join(records, name), '{');
  const text = '= stay     default/web-edge1\n1 to stay\n';
  expect({ text: await diffs(machine, deployment('app:1')), names: await readdir(records) }).toEqual({
    text: four(text),
    names,
  });
});

test('pods that went back to an earlier revision stay', async () => {
  const machine = await booted();
  await machine.declare(deployment('app:1'));
  await machine.world.until(() => images(machine) === 'web-edge1 app:1');
  await machine.declare(deployment('app:2'));
  await machine.world.until(() => images(machine) === 'web-edge1 app:2');
  await act(machine, { action: 'undo' });
  await machine.world.until(() => images(machine) === 'web-edge1 app:1');
  expect(await diffs(machine, deployment('app:2'))).toEqual(four('= stay     default/web-edge1\n1 to stay\n'));
});

test('pods that a restart replaced stay', async () => {
  const machine = await booted();
  await machine.declare(deployment('app:1'));
  await machine.world.until(() => images(machine) === 'web-edge1 app:1');
  const uid = (): string | undefined => machine.engine.pod('web-edge1')?.pod.metadata.uid;
  const before = uid();
  await act(machine, { action: 'restart' });
  await machine.world.until(() => uid() !== before && machine.engine.isReady('web-edge1'));
  expect(await diffs(machine, deployment('app:1'))).toEqual(four('= stay     default/web-edge1\n1 to stay\n'));
});

test('pods of a paused rollout stay, and the reason is given', async () => {
  const machine = await booted();
  await machine.declare(deployment('app:1'));
  await machine.world.until(() => images(machine) === 'web-edge1 app:1');
  await act(machine, { action: 'pause' });
  const because = 'the rollout of Deployment web is paused; revision 1 runs';
  await machine.world.pass(5000);
  expect(await diffs(machine, deployment('app:2'))).toEqual(
    four(`= stay     default/web-edge1 (${because})\n1 to stay\n`),
  );
});

test('an extra pod of a rollout stays, and one that a lower count removes stops', async () => {
  const machine = await booted();
  await machine.declare(deployment('app:1', 3));
  const three = 'web-1-edge1 app:1,web-2-edge1 app:1,web-edge1 app:1';
  await machine.world.until(() => images(machine) === three);
  expect(await diff(machine, deployment('app:1', 2), 'pods', machine.engine.kubelet.snapshot())).toContain(
    '- stop     default/web-2-edge1 (no manifest declares it)\n',
  );
  machine.world.runtime.injectError('pullImage', new Error('unreachable'));
  await machine.declare(deployment('app:9', 3));
  await machine.world.until(() => machine.engine.pod('web-3-edge1') !== undefined);
  const because = 'it helps with the rollout of Deployment web, and stops at its end';
  const texts = await diffs(machine, deployment('app:9', 3));
  expect(texts.map((text) => text.split('\n').find((line) => line.includes('web-3')))).toEqual(
    four(`= stay     default/web-3-edge1 (${because})`),
  );
});

const batch = (kind: string, spec: string): string =>
  `apiVersion: batch/v1\nkind: ${kind}\nmetadata: {name: pi}\nspec: {${spec}}\n`;
const template = 'template: {spec: {restartPolicy: Never, containers: [{name: main, image: app:1}]}}';

test('finished and retried pods of a Job stay', async () => {
  const machine = await booted();
  machine.world.runtime.script('main', { exitAfterMs: 1000, exitCode: 1 });
  const job = batch('Job', `completions: 2, parallelism: 2, backoffLimit: 2, ${template}`);
  await machine.declare(job);
  await machine.world.until(() => machine.engine.messages('BackoffLimitExceeded').length > 0);
  await machine.world.pass(5000);
  expect(await diffs(machine, job)).toEqual(
    four('= stay     default/pi-1-edge1\n= stay     default/pi-edge1\n2 to stay\n'),
  );
});

test('kept runs of a CronJob stay', async () => {
  const machine = await booted();
  machine.world.runtime.script('main', { exitAfterMs: 1000 });
  const cronJob = batch('CronJob', `schedule: '* * * * *', timeZone: Etc/UTC, jobTemplate: {spec: {${template}}}`);
  await machine.declare(cronJob);
  await machine.world.until(() => machine.engine.messages('Completed').length > 1);
  const names = machine.engine.kubelet.snapshot().pods.map(({ pod }) => pod.metadata.name);
  expect(await diffs(machine, cronJob)).toEqual(
    four([...names.map((name) => `= stay     default/${name}\n`), '2 to stay\n'].join('')),
  );
});

import { expect, test } from 'vitest';
import { ImageServiceDefinition, RuntimeServiceDefinition } from '../../src/cri/generated/cri.ts';
import type { Container, ContainerStatus, PodSandbox, PodSandboxStatus } from '../../src/cri/types.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { World } from './world.ts';

const image = 'registry.example/app:1';
const hostile = '../../etc/\0\x1b[2J\nerror: forged\u202e';
const latest = 2n ** 63n - 1n;
const earliest = -(2n ** 63n);

type Answer = Record<string, unknown>;
type Method = (...args: unknown[]) => Promise<Answer>;
/** By method: changes the true answer into a false one. */
type Lies = Readonly<Record<string, (truth: Answer) => Answer>>;

const sandboxes = (change: (items: PodSandbox[]) => unknown[]): Lies => ({
  listPodSandbox: ({ items }) => ({ items: change(items as PodSandbox[]) }),
});
const containers = (change: (items: Container[]) => unknown[]): Lies => ({
  listContainers: (truth) => ({ containers: change(truth['containers'] as Container[]) }),
});
const containerStatus = (change: (status: ContainerStatus) => unknown): Lies => ({
  containerStatus: (truth) => ({ ...truth, status: change(truth['status'] as ContainerStatus) }),
});
const sandboxStatus = (change: (status: PodSandboxStatus) => unknown): Lies => ({
  podSandboxStatus: (truth) => ({ ...truth, status: change(truth['status'] as PodSandboxStatus) }),
});
const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const foreignSandbox = (id: string): object => ({
  id,
  metadata: { name: id, namespace: 'default', uid: id, attempt: 0 },
  state: 'SANDBOX_READY',
  createdAt: 1n,
  labels: {},
});
const foreignContainer = (id: string): object => ({
  id,
  podSandboxId: id,
  metadata: { name: id, attempt: 0 },
  image: { image: 'x' },
  imageRef: 'x',
  state: 'CONTAINER_RUNNING',
  createdAt: 1n,
  labels: {},
});

/** Lies that do not contradict the running pods. These pods must stay untouched. */
const harmless: Record<string, Lies> = {
  'sandboxes without metadata': sandboxes((items) => [
    { id: 'x', state: 'SANDBOX_READY' },
    ...items,
    { id: 'y', state: 'SANDBOX_NOTREADY' },
  ]),
  'sandboxes without id': sandboxes((items) => [...items, { ...foreignSandbox('x'), id: '' }]),
  'sandboxes with hostile ids and UIDs': sandboxes((items) => [
    ...items,
    {
      ...foreignSandbox(hostile),
      metadata: { name: hostile, namespace: hostile, uid: hostile, attempt: 2 ** 32 - 1 },
      labels: { 'io.kubernetes.pod.uid': hostile, 'io.kubernetes.pod.name': hostile },
    },
  ]),
  'each sandbox twice': sandboxes((items) => [...items, ...items]),
  'sandboxes in another order every time': sandboxes((items) => items.toReversed()),
  'a sandbox state that nobody knows': sandboxes((items) => [
    ...items,
    { ...foreignSandbox('x'), state: 'UNRECOGNIZED' },
  ]),
  '300 foreign sandboxes': sandboxes((items) => [...items, ...many(300, (i) => foreignSandbox(`f${i}`))]),
  'containers without metadata': containers((items) => [{ id: 'x', podSandboxId: 'nobody' }, ...items]),
  'each container twice': containers((items) => [...items, ...items]),
  'containers of sandboxes that are none': containers((items) => [...items, foreignContainer('lost')]),
  'containers with hostile ids': containers((items) => [...items, foreignContainer(hostile)]),
  '1,000 foreign containers': containers((items) => [...items, ...many(1000, (i) => foreignContainer(`f${i}`))]),
  'times of the year 292277026596': containerStatus((status) => ({ ...status, createdAt: latest, startedAt: latest })),
  'times before the epoch': containerStatus((status) => ({ ...status, createdAt: earliest, startedAt: earliest })),
  'times of 0': containerStatus((status) => ({ ...status, createdAt: 0n, startedAt: 0n, finishedAt: 0n })),
  'reasons and messages of megabytes': containerStatus((status) => ({
    ...status,
    reason: hostile.repeat(1000),
    message: hostile.repeat(100_000),
  })),
  'mounts that nobody made': containerStatus((status) => ({
    ...status,
    mounts: many(10_000, () => ({ containerPath: hostile, hostPath: hostile })),
  })),
  'addresses that are none': sandboxStatus((status) => ({
    ...status,
    network: { ip: hostile, additionalIps: many(10_000, () => ({ ip: hostile })) },
  })),
  'no network': sandboxStatus((status) => ({ ...status, network: undefined })),
  'images without names': { listImages: () => ({ images: [{ id: '' }, { id: hostile, repoTags: [hostile, ''] }] }) },
  '5,000 images': { listImages: () => ({ images: many(5000, (i) => ({ id: `sha256:${i}`, size: latest })) }) },
  'a file system without numbers': {
    imageFsInfo: () => ({ imageFilesystems: [{}, { fsId: { mountpoint: hostile } }] }),
  },
};

/** Lies about the pods themselves. Any outcome is allowed, as long as the engine keeps running. */
const contradictory: Record<string, Lies> = {
  'a status without anything': { containerStatus: () => ({}), podSandboxStatus: () => ({}) },
  'the status of another container': containerStatus((status) => ({ ...status, id: 'another' })),
  'a status without metadata': containerStatus((status) => ({ ...status, metadata: undefined })),
  'the end before the start': containerStatus((status) => ({
    ...status,
    state: 'CONTAINER_EXITED',
    exitCode: -(2 ** 31),
    startedAt: latest,
    finishedAt: earliest,
  })),
  'a container state that nobody knows': containerStatus((status) => ({ ...status, state: 'UNRECOGNIZED' })),
  'empty lists': { listPodSandbox: () => ({}), listContainers: () => ({}) },
  'no conditions': { status: () => ({}) },
  'conditions of megabytes': {
    status: () => ({
      status: { conditions: [{ type: 'RuntimeReady', status: false, message: hostile.repeat(20_000) }] },
    }),
  },
  'an empty version': { version: () => ({}) },
  'a made sandbox without id': { runPodSandbox: () => ({ podSandboxId: '' }) },
  'a made container without id': { createContainer: () => ({ containerId: '' }) },
  'a pulled image without a name': { pullImage: () => ({ imageRef: '' }), imageStatus: () => ({}) },
};

/** Fills in missing fields, because the wire takes only complete messages. */
const responses = { ...RuntimeServiceDefinition.methods, ...ImageServiceDefinition.methods } as unknown as Record<
  string,
  { responseType: { fromPartial: (answer: Answer) => Answer } }
>;

/** Makes a runtime with false answers that the test chooses. */
async function liar(): Promise<{ world: World; lie: (lies: Lies) => void }> {
  const world = await World.make();
  world.runtime.addImage(image);
  let current: Lies = {};
  const methods = world.runtime as unknown as Record<string, Method>;
  for (const name of new Set([harmless, contradictory].flatMap((kinds) => Object.values(kinds).flatMap(Object.keys)))) {
    const honest = methods[name]?.bind(world.runtime);
    if (honest === undefined) throw new Error(`a runtime has no ${name}`);
    methods[name] = async (...args) => {
      const truth = await honest(...args);
      const answer = current[name]?.(truth);
      return answer === undefined ? truth : (responses[name]?.responseType.fromPartial(answer) ?? truth);
    };
  }
  return { world, lie: (lies) => (current = lies) };
}

const pods = ['calm-edge1#0 SANDBOX_READY', 'calm-edge1/main#0 CONTAINER_RUNNING'];

test.each(Object.entries(harmless))('%s from a runtime leave the pods in peace', async (_title, lies) => {
  const { world, lie } = await liar();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.set(makeStaticPod('calm'));
  await world.until(() => engine.isReady('calm-edge1'));
  lie(lies);
  await world.pass(70_000);
  expect(engine.isReady('calm-edge1')).toBe(true);
  expect(JSON.stringify(engine.kubelet.snapshot()).length).toBeLessThan(100_000);
  source.set(makeStaticPod('calm'), makeStaticPod('next'));
  await world.until(() => engine.isReady('next-edge1'));
  lie({});
  source.set(makeStaticPod('calm'));
  await world.until(() => engine.pod('next-edge1') === undefined);
  expect(await world.inventory()).toEqual(pods);
});

test.each(Object.entries(contradictory))('%s from a runtime do not end the engine', async (_title, lies) => {
  const { world, lie } = await liar();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.set(makeStaticPod('calm'));
  await world.until(() => engine.isReady('calm-edge1'));
  lie(lies);
  source.set(makeStaticPod('calm'), makeStaticPod('next'));
  await world.pass(70_000);
  expect(JSON.stringify(engine.kubelet.snapshot()).length).toBeLessThan(100_000);
  lie({});
  await world.until(() => engine.isReady('calm-edge1') && engine.isReady('next-edge1'));
  source.set();
  await world.until(async () => engine.kubelet.snapshot().pods.length === 0 && (await world.inventory()).length === 0);
});

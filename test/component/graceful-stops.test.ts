import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Container, Pod } from '../../src/api/types.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

/** A container with a preStop hook. */
const withHook = (name: string, more: Partial<Container> = {}): Container => ({
  name,
  image: 'registry.example/app:1',
  lifecycle: { preStop: { exec: { command: ['flush', name] } } },
  ...more,
});

/** A database with a sidecar, and a minute to stop. */
function database(uid: string, more: Partial<Container> = {}): Pod {
  return makeStaticPod('db', {
    uid,
    spec: {
      terminationGracePeriodSeconds: 60,
      initContainers: [withHook('proxy', { restartPolicy: 'Always' })],
      containers: [withHook('main', more)],
    },
  });
}

const other = makeStaticPod('other', { uid: 'other' });

class Node {
  readonly world: World;
  engine: Engine;
  readonly source: ManualSource;
  readonly #names = new Map<string, string>();

  private constructor(world: World, engine: Engine, source: ManualSource) {
    this.world = world;
    this.engine = engine;
    this.source = source;
  }

  /** A node that runs the database and another pod. */
  static async running(): Promise<Node> {
    const world = await World.make();
    const source = new ManualSource();
    const node = new Node(world, await boot(world, source), source);
    // Hooks take 5 s, and the database 20 s to stop.
    world.runtime.latency('execSync', 5000);
    world.runtime.script('main', { stopAfterMs: 20_000 });
    source.set(database('first'), other);
    await world.until(() => node.engine.isReady('db-edge1') && node.engine.isReady('other-edge1'));
    const { containers } = await world.runtime.listContainers({});
    for (const { id, labels } of containers) {
      if (labels['io.kubernetes.pod.name'] === 'db-edge1')
        node.#names.set(id, labels['io.kubernetes.container.name'] ?? '');
    }
    return node;
  }

  async restart(source: ManualSource): Promise<void> {
    await this.engine.kill();
    this.engine = await boot(this.world, source);
  }

  /** Lets time pass until the database is down. Returns its hooks and stops in their order. */
  async stops(): Promise<string[]> {
    await this.world.until(async () => {
      const { containers } = await this.world.runtime.listContainers({});
      return containers.every(({ id, state }) => !this.#names.has(id) || state === 'CONTAINER_EXITED');
    });
    return this.world.runtime.calls.flatMap(({ method, request }) => {
      const { containerId = '', timeout = 0n } = request as { containerId?: string; timeout?: bigint };
      const name = this.#names.get(containerId);
      if (name === undefined) return [];
      if (method === 'execSync') return [`hook of ${name}`];
      return method === 'stopContainer' ? [`stop of ${name} within ${timeout} s`] : [];
    });
  }
}

const boot = (world: World, source: ManualSource): Promise<Engine> =>
  world.boot({
    sources: [source],
    node: makeNodeConfig(world.folder, {
      shutdown: { shutdownGracePeriodSeconds: 90, shutdownGracePeriodCriticalPodsSeconds: 0, byPodPriority: [] },
    }),
  });

/** The hooks run at once. The sidecar stops after the container that it serves. */
const gracefully = ['hook of main', 'hook of proxy', 'stop of main within 55 s', 'stop of proxy within 35 s'];
/** The runtime knows all but the order of sidecars. */
const withoutOrder = ['hook of main', 'hook of proxy', 'stop of main within 55 s', 'stop of proxy within 55 s'];

/** Loses what the agent wrote about the pod. */
const loseRevision = ({ world }: Node): Promise<void> => rm(join(world.rootDir, 'pods', 'first', 'revision.json'));

test.each<[string, (node: Node) => Promise<void> | void, string[]]>([
  [
    'its manifest is removed',
    ({ source }) => {
      source.set(other);
    },
    gracefully,
  ],
  [
    'its manifest changes',
    ({ source }) => {
      source.set(database('second', { workingDir: '/' }), other);
    },
    gracefully,
  ],
  [
    'its manifest is removed while no agent runs',
    async (node) => {
      const source = new ManualSource();
      source.set(other);
      await node.restart(source);
    },
    gracefully,
  ],
  [
    'its manifest is removed while no agent runs, and its revision is lost',
    async (node) => {
      const source = new ManualSource();
      source.set(other);
      await node.engine.kill();
      await loseRevision(node);
      await node.restart(source);
    },
    withoutOrder,
  ],
  [
    'its manifest changes while no agent runs',
    async (node) => {
      const source = new ManualSource();
      source.set(database('second', { workingDir: '/' }), other);
      await node.restart(source);
    },
    gracefully,
  ],
  [
    'another source declares it from now on',
    async (node) => {
      const source = new ManualSource('http');
      source.set(database('second', { workingDir: '/' }), other);
      await node.restart(source);
    },
    gracefully,
  ],
  [
    'the agent is killed while it runs the hooks of a removed pod',
    async (node) => {
      node.source.set(other);
      await node.world.until(() => node.world.runtime.requestsOf('execSync').length === 2);
      node.engine.crash();
      const source = new ManualSource();
      source.set(other);
      node.engine = await boot(node.world, source);
    },
    ['hook of main', 'hook of proxy', ...gracefully],
  ],
  ['its node is shut down', ({ engine }) => void engine.kubelet.shutDownPods(), gracefully],
  ['all pods of an agent are removed', ({ engine }) => void engine.kubelet.removeAllPods(), gracefully],
])('a pod stops within its grace period and runs its hooks when %s', async (_, act, stops) => {
  const node = await Node.running();
  await act(node);
  expect(await node.stops()).toEqual(stops);
});

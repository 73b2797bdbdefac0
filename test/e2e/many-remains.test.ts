import { join } from 'node:path';
import { execa } from 'execa';
import pLimit from 'p-limit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findContainerd } from '../../src/containerd/find-containerd.ts';
import { managedPaths } from '../../src/containerd/managed-paths.ts';
import { criAnnotations, criLabels } from '../../src/engine/container/labels.ts';
import type { RuntimeConnection } from '../../src/node/runtime-connection.ts';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';
import { writeManyImages } from './many-images.ts';

const count = 200;

let agent: Agent;
let connection: RuntimeConnection;

/** The disk has less than 99 % free, so the agent frees all it can, and evicts none but pods that are not critical. */
beforeAll(async () => {
  agent = await startAgent({
    flags: ['--eviction-hard=imagefs.available<99%', '--minimum-image-ttl-duration=1us'],
    manifests: {
      'web.yaml': makePod('web', { priorityClassName: 'system-node-critical', containers: [shell('app', serve)] }),
    },
  });
  await agent.untilReady('web');
  connection = await agent.connect();
});
afterAll(async () => {
  connection.close();
  await agent.cleanUp();
});

test(`${String(count)} dead containers and ${String(count)} unused images are removed beside a critical pod`, async () => {
  const running = await agent.runningContainer('web');
  // containerd refuses an import while images of the same archive are removed.
  await agent.kill9();
  await Promise.all([addDeadContainers(), addImages()]);
  await agent.start();
  // The collection of every minute may remove some of the containers first, without a report.
  await agent.waitForLog(() => removedContainers() >= count && removedImages() >= count);
  const { containers } = await connection.runtime.listContainers({});
  expect(containers.map(({ metadata, state }) => `${metadata?.name ?? ''} ${state}`).sort()).toEqual([
    'app CONTAINER_RUNNING',
    // The newest ended instance stays.
    'earlier CONTAINER_CREATED',
  ]);
  expect((await agent.runningContainer('web')).id).toBe(running.id);
  const { images } = await connection.images.listImages({});
  expect(images.flatMap(({ repoTags }) => repoTags).filter((name) => name.startsWith('unused.example/'))).toEqual([]);
});

function removedContainers(): number {
  const removed = agent.logs.filter((entry) => entry['event'] === 'ContainerRemoved');
  return new Set(removed.map((entry) => entry['containerID'])).size;
}

function removedImages(): number {
  return agent.logs.filter(({ msg }) => msg.startsWith('Removed image "unused.example/')).length;
}

/** Instances of a container that were created and never started, one more than are removed. */
async function addDeadContainers(): Promise<void> {
  const { runtime } = connection;
  const { items } = await runtime.listPodSandbox({});
  const { containers } = await runtime.listContainers({});
  const [sandbox, container] = [items[0], containers[0]];
  if (sandbox?.metadata === undefined || container === undefined) throw new Error('the pod does not run');
  const sandboxConfig = { metadata: sandbox.metadata, labels: sandbox.labels, annotations: sandbox.annotations };
  const create = (_: unknown, attempt: number): Promise<unknown> =>
    runtime.createContainer({
      podSandboxId: sandbox.id,
      sandboxConfig,
      config: {
        metadata: { name: 'earlier', attempt },
        image: { image: container.imageRef },
        command: ['true'],
        labels: { ...container.labels, [criLabels.containerName]: 'earlier' },
        annotations: { ...container.annotations, [criAnnotations.restartCount]: String(attempt) },
        linux: {},
      },
    });
  const several = pLimit(4);
  await several.map(Array.from({ length: count + 1 }), create);
}

async function addImages(): Promise<void> {
  const archive = join(agent.rootDir, 'many.tar');
  await writeManyImages(
    archive,
    Array.from({ length: count }, (_, index) => `unused.example/app:${String(index)}`),
  );
  const { ctr } = await findContainerd({ path: process.env['PATH'] ?? '' });
  const { socket } = managedPaths(agent.rootDir);
  await execa(ctr ?? '', ['-a', socket, '-n', 'k8s.io', 'images', 'import', archive]);
}

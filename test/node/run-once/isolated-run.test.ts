import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { withFileLock } from '../../../src/files/file-lock.ts';
import { addNodeOptions } from '../../../src/node/options/node-flags.ts';
import { type NodeFlags, nodeOptions, type NodeOptions } from '../../../src/node/options/node-options.ts';
import { openIsolatedRun, removeAbandonedRuns } from '../../../src/node/run-once/isolated-run.ts';
import type { Logger } from '../../../src/logger.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const { signal } = new AbortController();

/** A node with a root-dir of its own. */
async function newNode(...more: string[]): Promise<NodeOptions> {
  const flags = [
    '--root-dir',
    await temporaryFolder(),
    '--cgroup-root',
    '/ci',
    '--hostname-override',
    'edge1',
    ...more,
  ];
  const command = addNodeOptions(new Command('run-once')).parse(flags, { from: 'user' });
  return nodeOptions(command.opts<NodeFlags>(), []);
}

const runsLeft = async ({ rootDir }: NodeOptions): Promise<string[]> =>
  (await readdir(join(rootDir, 'runs'))).filter((name) => !name.startsWith('.'));

/** Calls `use` while no run of this node can begin or end. */
const whileLocked = <T>({ rootDir }: NodeOptions, use: () => Promise<T>): Promise<T> =>
  withFileLock(join(rootDir, 'runs', '.lock'), systemClock, use);

test('a run has a root-dir, a cgroup and names of its own, and the runtime and the images of the node', async () => {
  const node = await newNode();
  const { options } = await openIsolatedRun(node, silentLogger, signal);
  const { nodeName } = options;
  expect(nodeName).toMatch(/^run-[0-9a-f]{8}$/);
  expect(options).toEqual({
    ...node,
    rootDir: join(node.rootDir, 'runs', nodeName),
    nodeName,
    cgroupRoot: `/ci/${nodeName}`,
    // It removes no images.
    imageGCHighThresholdPercent: 100,
  });
  expect(await runsLeft(node)).toEqual([nodeName]);
});

test('a run names its process until it is gone, so that no other one takes it for abandoned', async () => {
  const [node, other] = [await newNode(), await newNode()];
  const run = await openIsolatedRun(node, silentLogger, signal);
  const { closed, meanwhile } = await whileLocked(node, async () => {
    const closing = run.close({ isEmpty: true });
    // Without the lock it would be gone when others, which take the same steps, are.
    for (let rounds = 0; rounds < 3; rounds++)
      await openIsolatedRun(other, silentLogger, signal).then((one) => one.close({ isEmpty: true }));
    return { closed: () => closing, meanwhile: await readdir(run.options.rootDir) };
  });
  await closed();
  expect({ meanwhile, left: await runsLeft(node) }).toEqual({ meanwhile: ['holder'], left: [] });
});

test('a run that waits for others to begin or to end can be interrupted', async () => {
  const node = await newNode();
  await whileLocked(node, async () => {
    const interrupted = new AbortController();
    const opening = openIsolatedRun(node, silentLogger, interrupted.signal);
    interrupted.abort(new Error('interrupted'));
    await expect(opening).rejects.toThrow('interrupted');
  });
  expect(await runsLeft(node)).toEqual([]);
});

test('distinguishes a killed run that cannot be removed from one that continues', async () => {
  const endpoint = 'unix:///nonexistent/containerd.sock';
  const node = await newNode('--container-runtime-endpoint', endpoint);
  const { options } = await openIsolatedRun(node, silentLogger, signal);
  await mkdir(join(node.rootDir, 'runs', 'run-0000000a', 'pods', 'uid-1'), { recursive: true });
  await mkdir(join(node.rootDir, 'runs', 'run-0000000b'));
  expect(await removeAbandonedRuns(node, silentLogger)).toEqual({
    removed: ['run-0000000b'],
    live: [options.nodeName],
    failed: [{ name: 'run-0000000a', reason: expect.stringContaining(endpoint) as string, mayRun: true }],
  });
  expect((await runsLeft(node)).sort()).toEqual(['run-0000000a', options.nodeName].sort());
});

test('what the removal of a killed run has to tell goes to the log of the caller', async () => {
  const node = await newNode();
  const saved = join(node.rootDir, 'runs', 'run-0000000a', 'manifests-last-good');
  const path = join(saved, `file-${'a'.repeat(32)}-${'b'.repeat(32)}`);
  await mkdir(saved, { recursive: true });
  await writeFile(path, 'damaged');
  const entries: unknown[] = [];
  const logger: Logger = {
    ...silentLogger,
    warn: (facts: unknown, message?: string) => entries.push([facts, message]),
    child: () => logger,
  };
  expect(await removeAbandonedRuns(node, logger)).toEqual({ removed: ['run-0000000a'], live: [], failed: [] });
  expect(entries).toEqual([[{ err: 'its content is not what was written', path }, 'A saved manifest cannot be used']]);
});

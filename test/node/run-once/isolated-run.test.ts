import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { addNodeOptions } from '../../../src/node/options/node-flags.ts';
import { type NodeFlags, nodeOptions } from '../../../src/node/options/node-options.ts';
import { openIsolatedRun } from '../../../src/node/run-once/isolated-run.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

test('a run has a root-dir, a cgroup and names of its own, and the runtime and the images of the node', async () => {
  const rootDir = await temporaryFolder();
  const flags = ['--root-dir', rootDir, '--cgroup-root', '/ci', '--hostname-override', 'edge1'];
  const command = addNodeOptions(new Command('run-once')).parse(flags, { from: 'user' });
  const node = await nodeOptions(command.opts<NodeFlags>(), []);
  const { options } = await openIsolatedRun(node, silentLogger);
  const { nodeName } = options;
  expect(nodeName).toMatch(/^run-[0-9a-f]{8}$/);
  expect(options).toEqual({
    ...node,
    rootDir: join(rootDir, 'runs', nodeName),
    nodeName,
    cgroupRoot: `/ci/${nodeName}`,
    // It removes no images.
    imageGCHighThresholdPercent: 100,
  });
  expect((await readdir(join(rootDir, 'runs'))).filter((name) => !name.startsWith('.'))).toEqual([nodeName]);
});

import { randomBytes } from 'node:crypto';
import { appendFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import type { ContainerLogSettings } from '../../src/engine/logs/container-log-manager.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { World } from './world.ts';

const settings: ContainerLogSettings = { maxSizeBytes: 100n, maxFiles: 5, maxWorkers: 1, monitorIntervalMs: 10_000 };

/** Boots an engine with one running pod, and resolves with the path of its log. */
async function runPod(world: World, containerLogs: ContainerLogSettings): Promise<string> {
  const source = new ManualSource();
  const node = { ...makeNodeConfig(world.folder), containerLogs };
  const engine = await world.boot({ sources: [source], node });
  source.set(makeStaticPod('web'));
  await world.until(() => engine.isReady('web-edge1'));
  const { containers } = await world.runtime.listContainers();
  const { status } = await world.runtime.containerStatus({ containerId: containers[0]?.id ?? '' });
  return status?.logPath ?? '';
}

test('the log of a running container is rotated', async () => {
  const world = await World.make();
  const log = await runPod(world, settings);
  await writeFile(log, 'x'.repeat(100));
  await world.until(() => world.runtime.requestsOf('reopenContainerLog').length > 0);
  await world.pass(1000);
  expect(await readdir(dirname(log))).toEqual([expect.stringMatching(/^0\.log\.\d{8}-\d{6}$/)]);
  expect(world.runtime.requestsOf('reopenContainerLog')).toHaveLength(1);
});

test('a disk that is full while a log is compressed keeps no part of it', async () => {
  const world = await World.make();
  const log = await runPod(world, { ...settings, maxFiles: 3 });
  const folder = dirname(log);
  await mkdir(folder, { recursive: true });
  await execa('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'logs', folder]);
  onTestFinished(async () => {
    await execa('umount', [folder]);
  });
  // Bytes that compress to no less.
  await writeFile(`${log}.20240101-000000`, randomBytes(40 * 1024));
  await appendFile(log, 'x'.repeat(100));
  await world.until(() => world.runtime.requestsOf('reopenContainerLog').length > 0);
  await world.pass(1000);
  expect((await readdir(folder)).sort()).toEqual(['0.log.20240101-000000', expect.stringMatching(/^0\.log\.2025/)]);
});

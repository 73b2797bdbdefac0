import { mkdir, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { blobsFolder } from '../../src/containerd/damaged-blobs.ts';
import { managedPaths } from '../../src/containerd/managed-paths.ts';
import { Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';
import { imagesFolder } from './program.ts';

/** Empties files, as a power cut does with those that were not yet on the disk. */
async function emptyAll(folder: string, isMeant: (name: string, size: number) => boolean): Promise<void> {
  for (const name of await readdir(folder, { recursive: true })) {
    const file = join(folder, name);
    const stats = await stat(file).catch(() => undefined);
    if (stats?.isFile() === true && isMeant(name, stats.size)) await truncate(file);
  }
}

const rootOf = ({ rootDir }: Agent): string => managedPaths(rootDir).root;
const snapshots = (agent: Agent): string => join(rootOf(agent), 'io.containerd.snapshotter.v1.overlayfs/snapshots');
const busybox = 'fs/bin/busybox';

test('files of unpacked images that a power cut emptied are restored, the pause program without being asked', async () => {
  const web = makePod('web', { containers: [shell('app', serve)] });
  const agent = await startAgent({ manifests: { 'web.yaml': web } });
  onTestFinished(() => agent.cleanUp());
  await agent.untilReady('web');
  await agent.powerOff();
  await emptyAll(snapshots(agent), (name) => name.endsWith('fs/pause') || name.endsWith(busybox));
  await agent.start();
  expect(await agent.waitForLog(({ msg }) => msg.includes('pause image was damaged'))).toMatchObject({
    files: ['/pause'],
  });
  await agent.untilPod('web', ({ pod }) => pod.status?.containerStatuses?.[0]?.lastState?.terminated !== undefined);

  const explained = await agent.cli(['explain', 'web']);
  expect(explained.stdout).toContain('kubelet-ts images repair localhost/busybox:1');
  expect(await agent.cli(['images', 'repair', 'localhost/busybox:1'])).toEqual({
    code: 0,
    stdout: expect.stringMatching(
      /^Restored files of image localhost\/busybox:1: \/bin\/busybox\nIf a pod waits, .*\n$/,
    ) as string,
    stderr: '',
  });
  expect((await agent.cli(['retry', 'web'])).code).toBe(0);
  await agent.untilReady('web');

  // The archive is good, and is stored in place of what is damaged, while a container uses it.
  await emptyAll(blobsFolder(rootOf(agent)), (_, size) => size < 1_000_000);
  expect(await agent.cli(['images', 'load', join(imagesFolder, 'busybox.tar')])).toEqual({
    code: 0,
    stdout: 'Loaded image: localhost/busybox:1\n',
    stderr: '',
  });
  await agent.write('other.yaml', makePod('other', { containers: [shell('app', serve)] }));
  await agent.untilReady('other');
});

test('archives of the root-dir whose end is missing are named at each start, and read at the first', async () => {
  const agent = await Agent.create({});
  onTestFinished(() => agent.cleanUp());
  const archive = await readFile(join(imagesFolder, 'busybox.tar'));
  const halves = { 'a.tar': archive.subarray(0, 500_000), 'b.tar.gz': gzipSync(archive).subarray(0, 300_000) };
  const folder = managedPaths(agent.rootDir).imagesFolder;
  await mkdir(folder, { recursive: true });
  for (const [name, bytes] of Object.entries(halves)) await writeFile(join(folder, name), bytes);
  const isRefused = (file: string) => ({
    file: join(folder, file),
    err: `Could not import the image archive ${join(folder, file)}: its end is missing`,
  });
  for (const isRead of [true, false]) {
    const since = agent.logs.length;
    await agent.start();
    const logged = agent.logs.slice(since);
    expect(logged.filter(({ msg }) => msg === 'An image archive was not imported')).toMatchObject(
      Object.keys(halves).map(isRefused),
    );
    expect(logged.some(({ msg }) => msg === 'Loading an image archive')).toBe(isRead);
    await agent.stop();
  }
});

import { PassThrough } from 'node:stream';
import { beforeEach, expect, test } from 'vitest';
import type { CommandDeps } from '../../../src/commands/io/deps.ts';
import { pruneImages } from '../../../src/commands/images/prune-images.ts';
import { managedPaths } from '../../../src/containerd/managed-paths.ts';
import { pauseImageName } from '../../../src/containerd/pause/pause-image.ts';
import type { RuntimeService } from '../../../src/cri/runtime-service.ts';
import { writeFileAtomic } from '../../../src/files/write-file-atomic.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeDeps } from '../runtime-listings.ts';

let runtime: FakeRuntime;
let rootDir: string;

beforeEach(async () => {
  runtime = new FakeRuntime({ clock: new FakeClock() });
  rootDir = await temporaryFolder();
  used = ['used:1'];
});

/** Images of containers of other owners. */
let used: string[];

/** A command on the fake runtime, in which containers of other owners use images. */
function depsWith(changes: Partial<CommandDeps> = {}): ReturnType<typeof makeDeps> {
  const listAllContainers = (() =>
    Promise.resolve({
      containers: used.map((image) => ({ imageId: '', imageRef: '', image: { image } })),
    })) as unknown as RuntimeService['listContainers'];
  const connection = { runtime, images: runtime, listAllContainers, close: () => undefined };
  return makeDeps(runtime, { connect: () => Promise.resolve(connection), ...changes });
}

const flags = (changes: object = {}) => ({ rootDir, dryRun: false, yes: true, ...changes });

async function names(): Promise<string[]> {
  return (await runtime.listImages({})).images.flatMap(({ repoTags }) => repoTags).sort();
}

test('removes only images that nothing uses, needs or pins', async () => {
  runtime.addImage('docker.io/library/used:1');
  runtime.addImage('localhost/pinned:1', { pinned: true });
  runtime.addImage(pauseImageName);
  runtime.addImage('localhost/archive:1');
  runtime.addImage('localhost/old:1', { size: 2_000_000n });
  const state = { store: 'any', files: { '/a.tar': { size: 1, mtimeMs: 1, names: ['localhost/archive:1'] } } };
  await writeFileAtomic(managedPaths(rootDir).importedImagesFile, JSON.stringify(state));
  const before = await names();
  const { printed, ...deps } = depsWith();
  await pruneImages(flags(), deps);
  expect(await names()).toEqual(before.filter((name) => name !== 'localhost/old:1'));
  expect(printed).toEqual({
    stdout: 'Removed image: localhost/old:1\nReclaimed space: 2MB\n',
    stderr: `warning: no kubelet-ts runs on ${rootDir}: images of pods without a container count as unused\n`,
    exitCode: undefined,
  });
});

test('a dry run removes nothing', async () => {
  runtime.addImage('localhost/old:1', { size: 2_000_000n });
  const { printed, ...deps } = depsWith();
  await pruneImages(flags({ dryRun: true }), deps);
  expect(printed.stdout).toBe('Would remove image: localhost/old:1\nReclaimable space: 2MB\n');
  expect(await names()).toEqual(['localhost/old:1']);
});

test('without a terminal it needs a confirmation by flag', async () => {
  runtime.addImage('localhost/old:1');
  await expect(pruneImages(flags({ yes: false }), depsWith())).rejects.toMatchObject({
    name: 'UserError',
    hint: 'Give -y to remove the unused images, or --dry-run to list them.',
  });
  expect(await names()).toEqual(['localhost/old:1']);
});

test.each([
  ['y', []],
  ['', ['localhost/old:1']],
])('on a terminal it asks, and the answer %j counts', async (answer, left) => {
  runtime.addImage('localhost/old:1');
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  stdin.write(`${answer}\n`);
  const { printed, ...deps } = depsWith({ stdin });
  await pruneImages(flags({ yes: false }), deps);
  expect(await names()).toEqual(left);
  expect(printed.stderr).toContain('Remove 1 unused image (');
});

test('what changed while it asked: an image that is used now stays, and a new one too', async () => {
  for (const name of ['idle', 'started']) runtime.addImage(`localhost/${name}:1`, { size: 2_000_000n });
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const stderr = new PassThrough({ encoding: 'utf8' });
  let errors = '';
  const asked = new Promise<void>((resolve) => {
    stderr.on('data', (text: string) => {
      errors += text;
      if (text.startsWith('Remove 2 unused')) resolve();
    });
  });
  const { printed, ...deps } = depsWith({ stdin, stderr });
  const pruning = pruneImages(flags({ yes: false }), deps);
  await asked;
  used.push('localhost/started:1');
  runtime.addImage('localhost/later:1');
  stdin.write('y\n');
  await pruning;
  expect(await names()).toEqual(['localhost/later:1', 'localhost/started:1']);
  expect(printed.stdout).toBe('Removed image: localhost/idle:1\nReclaimed space: 2MB\n');
  expect(errors).toMatch(/Skipped image, because it was used or removed meanwhile: localhost\/started:1\n$/);
  expect(errors.match(/no kubelet-ts runs/g)).toHaveLength(1);
});

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { blobsFolder } from '../../src/containerd/damaged-blobs.ts';
import { ManagedImages } from '../../src/containerd/managed-images.ts';
import { managedPaths, type ManagedPaths } from '../../src/containerd/managed-paths.ts';
import { pauseImageArchive, pauseImageName } from '../../src/containerd/pause/pause-image.ts';
import { makeFolder } from '../../src/files/make-folder.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { FakeCriServer } from '../fakes/fake-cri-server.ts';
import { FakeRuntime } from '../fakes/fake-runtime.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const { signal } = new AbortController();

let paths: ManagedPaths;
let runtime: FakeRuntime;

beforeEach(async () => {
  paths = managedPaths(await temporaryFolder());
  await makeFolder(paths.base, 0o700);
  runtime = new FakeRuntime({ clock: systemClock });
  const server = new FakeCriServer(runtime);
  await server.start({ socketPath: paths.socket });
  onTestFinished(() => {
    server.stop();
  });
});

/** `pids` are those of the running containerd, one for each look at it. `ctr` is a script. */
async function managedImages(pids: readonly (number | undefined)[], ctr = 'exit 1'): Promise<ManagedImages> {
  const path = join(dirname(paths.base), 'ctr');
  await writeFile(path, `#!/bin/sh\n${ctr}\n`, { mode: 0o755 });
  const version = { major: 1, minor: 7, patch: 0, text: '1.7.0' };
  const left = [...pids];
  return new ManagedImages({
    paths,
    clock: systemClock,
    find: () => Promise.resolve({ containerd: '/containerd', ctr: path, version, ociRuntime: 'runc' }),
    pid: () => left.shift(),
  });
}

test('the pause image is searched again if containerd ended meanwhile', async () => {
  runtime.addImage(pauseImageName);
  runtime.injectError('imageStatus', new Refusal(codes.unavailable, 'it was killed'));
  const images = await managedImages([1, 2, 2]);
  expect(await images.ensurePauseImage(signal)).toBe(false);
});

test('an archive is imported again if containerd ended meanwhile', async () => {
  runtime.addImage('localhost/a:1');
  const file = join(dirname(paths.base), 'a.tar');
  await writeFile(file, '');
  const once = `[ -e ${file}.seen ] || { touch ${file}.seen; exit 1; }`;
  const images = await managedImages([1, undefined, 2], `${once}\necho "unpacking localhost/a:1 (sha256:0a)...done"`);
  expect(await images.importArchive(file, signal)).toEqual(['localhost/a:1']);
});

test('a failure of a containerd that still runs is reported at once', async () => {
  const file = join(dirname(paths.base), 'a.tar');
  await writeFile(file, '');
  const images = await managedImages([1, 1], 'echo "ctr: unrecognized image format" >&2; exit 1');
  await expect(images.importArchive(file, signal)).rejects.toThrow(
    `Could not import the image archive ${file}: unrecognized image format`,
  );
});

test('a failed step is not repeated after the end of the start', async () => {
  const stopping = new AbortController();
  runtime.injectError('imageStatus', new Refusal(codes.unavailable, 'it was killed'));
  const images = await managedImages([1, 2]);
  stopping.abort(new Error('stopped'));
  await expect(images.ensurePauseImage(stopping.signal)).rejects.toThrow('stopped');
});

test('the pause image is imported without a file that another process could change', async () => {
  const [folder, seen] = [paths.base, join(dirname(paths.base), 'seen')];
  const images = await managedImages([1, 1], `ls ${folder} > ${seen}; cat > ${seen}.tar; echo "ctr: no" >&2; exit 1`);
  const before = await readdir(folder);
  await expect(images.ensurePauseImage(signal)).rejects.toThrow(': no');
  expect((await readFile(seen, 'utf8')).split('\n').slice(0, -1)).toEqual(before.sort());
  expect((await readFile(`${seen}.tar`)).equals(await pauseImageArchive(process.arch))).toBe(true);
});

test('an archive whose end is missing does not have the blobs of the store checked', async () => {
  const file = join(dirname(paths.base), 'a.tar');
  const calls = join(dirname(paths.base), 'calls');
  await writeFile(file, (await pauseImageArchive(process.arch)).subarray(0, -1024));
  await makeFolder(blobsFolder(paths.root), 0o700);
  await writeFile(join(blobsFolder(paths.root), '00'), 'damaged');
  const ctr = `echo "$5 $6" >> ${calls}; cat > /dev/null; echo "ctr: unexpected EOF" >&2; exit 1`;
  const images = await managedImages([1, 1], ctr);
  await expect(images.importArchive(file, signal)).rejects.toThrow(
    `Could not import the image archive ${file}: its end is missing`,
  );
  expect(await readFile(calls, 'utf8')).toBe('images import\n');
});

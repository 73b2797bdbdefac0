import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { type InstalledFile, installFiles, readSums } from '../../../src/node/bundle/install-files.ts';
import { beginBundle, writePrograms } from '../../../src/node/bundle/write-programs.ts';
import { mountSmallDisk } from '../../support/full-disk.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const sha256 = (content: string): string => createHash('sha256').update(content).digest('hex');
const program = '#!/bin/sh\necho version 1\n';

/** A bundle of an archive, a program and a plugin, and an empty machine. */
async function makeBundle(content = program) {
  const [machine, box, target] = [
    await temporaryFolder(),
    await temporaryFolder(),
    join(await temporaryFolder(), 'bin'),
  ];
  await writeFile(join(machine, 'containerd'), content, { mode: 0o755 });
  await writeFile(join(machine, 'bridge'), 'a plugin');
  await writeFile(join(box, 'app.tar'), 'images');
  await beginBundle(box);
  await writePrograms({ file: join(box, 'app.tar'), sha256: sha256('images') }, [
    { name: 'containerd', source: join(machine, 'containerd') },
    { name: 'cni/bridge', source: join(machine, 'bridge') },
  ]);
  const files = [...(await readSums(box))].map(([name, sum]): InstalledFile => ({
    name,
    sha256: sum,
    target: join(target, basename(name)),
    mode: name === 'app.tar' ? 0o600 : 0o755,
    isTried: name === 'containerd',
  }));
  return { box, target, files };
}

test('a bundle is installed', async () => {
  const { box, target, files } = await makeBundle();
  await installFiles(box, files);
  expect((await readdir(target)).sort()).toEqual(['app.tar', 'bridge', 'containerd']);
  expect(await readFile(join(target, 'containerd'), 'utf8')).toBe(program);
  const modes = await Promise.all(files.map(async (file) => (await stat(file.target)).mode & 0o777));
  expect(modes).toEqual([0o600, 0o755, 0o755]);
});

test.each<[string, (box: string) => Promise<unknown>, string]>([
  ['a program that is cut off', (box) => truncate(join(box, 'containerd'), 10), 'the SHA-256 of containerd is '],
  ['a program that is missing', (box) => rm(join(box, 'cni/bridge')), 'cni/bridge: no such file'],
  ['a folder in its place', (box) => rm(join(box, 'app.tar')).then(() => mkdir(join(box, 'app.tar'))), 'app.tar'],
])('nothing is installed of a bundle with %s', async (_what, damage, message) => {
  const { box, target, files } = await makeBundle();
  await damage(box);
  await expect(installFiles(box, files)).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining(message) as string,
  });
  expect(await readdir(target)).toEqual([]);
});

test('nothing is installed if a program does not run on this machine', async () => {
  const { box, target, files } = await makeBundle('#!/bin/sh\necho "libseccomp.so.2: no such file" >&2; exit 127\n');
  await expect(installFiles(box, files)).rejects.toMatchObject({
    message: 'containerd of the bundle does not run on this machine: libseccomp.so.2: no such file',
  });
  expect(await readdir(target)).toEqual([]);
});

test('nothing is installed on a full disk', async () => {
  const { box, files } = await makeBundle();
  await writeFile(join(box, 'app.tar'), Buffer.alloc(300_000));
  const small = await temporaryFolder();
  await mountSmallDisk(small, 100);
  const full = files.map((file) => ({ ...file, target: join(small, basename(file.name)) }));
  await expect(installFiles(box, full)).rejects.toMatchObject({
    message: `${join(small, 'app.tar')}.next cannot be written: no space left on device`,
  });
  expect(await readdir(small)).toEqual([]);
});

test.each([
  ['no checksums', undefined, 'no such file'],
  ['none', '', 'is cut off'],
  ['half a line', `${sha256('images')}  app.tar\n${sha256('x').slice(0, 30)}`, 'is cut off'],
  ['a file elsewhere', `${sha256('images')}  ../app.tar\n`, 'is cut off'],
])('a bundle with %s is not complete', async (_what, sums, message) => {
  const { box } = await makeBundle();
  if (sums === undefined) await rm(join(box, 'SHA256SUMS'));
  else await writeFile(join(box, 'SHA256SUMS'), sums);
  await expect(readSums(box)).rejects.toMatchObject({
    message: expect.stringMatching(new RegExp(`^the bundle is not complete: .*SHA256SUMS.*${message}`)) as string,
  });
});

test('a file that cannot take its place is named, with those that are installed already', async () => {
  const { box, target, files } = await makeBundle();
  const [first, second] = files;
  await mkdir(join(second?.target ?? '', 'folder'), { recursive: true });
  await expect(installFiles(box, files)).rejects.toMatchObject({
    message: expect.stringContaining(`${second?.target ?? ''} cannot be written: `) as string,
    hint: `Make room, or make it writable, then run the command again. Already installed: ${first?.target ?? ''}`,
  });
  expect((await readdir(target)).sort()).toEqual([first, second].map((file) => basename(file?.target ?? '')).sort());
});

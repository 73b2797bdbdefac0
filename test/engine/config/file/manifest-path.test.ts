import { chmod, mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { lookAtPath } from '../../../../src/engine/config/file/manifest-path.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';

let folder: string;
const nothingElse = { mountPoints: ['/'], mountedOn: undefined };

beforeEach(async () => {
  folder = await realpath(await temporaryFolder());
});

test('a folder has its entries, by name, and says which are links and folders', async () => {
  await writeFile(join(folder, 'b.yaml'), '');
  await symlink('b.yaml', join(folder, 'a.yaml'));
  await mkdir(join(folder, 'c'));
  expect(await lookAtPath(folder, nothingElse)).toEqual({
    is: 'folder',
    entries: [
      { name: 'a.yaml', isLink: true, isFolder: false },
      { name: 'b.yaml', isLink: false, isFolder: false },
      { name: 'c', isLink: false, isFolder: true },
    ],
    real: folder,
    mountPoint: '/',
    problems: [],
  });
});

test('a folder that everybody can write to is warned of', async () => {
  await chmod(folder, 0o777);
  expect(await lookAtPath(folder, nothingElse)).toMatchObject({
    is: 'folder',
    problems: [{ origin: folder, severity: 'warning', message: 'everybody on this machine can write to it' }],
  });
});

test('anything else that is there is a file, on what it is mounted on after all links', async () => {
  const file = join(folder, 'pod.yaml');
  await writeFile(file, '');
  const linked = join(await temporaryFolder(), 'linked.yaml');
  await symlink(file, linked);
  const look = { is: 'file', real: file, mountPoint: folder };
  expect(await lookAtPath(linked, { mountPoints: ['/', folder], mountedOn: undefined })).toEqual(look);
});

test('what is missing from a folder that is there was removed', async () => {
  expect(await lookAtPath(join(folder, 'manifests'), nothingElse)).toEqual({ is: 'removed' });
});

test.each([
  ['with the folder above it', 'etc/manifests', /^path does not exist, nor does \/.*\/etc$/],
  ['as it is a link to nothing', 'link', /^is a link to nothing$/],
  ['as it cannot be looked at', 'file/manifests', /^ENOTDIR/],
])('a path is away %s', async (_why, path, because) => {
  await symlink('nowhere', join(folder, 'link'));
  await writeFile(join(folder, 'file'), '');
  expect(await lookAtPath(join(folder, path), nothingElse)).toEqual({
    is: 'away',
    isUnmounted: false,
    because: expect.stringMatching(because) as string,
    hint: expect.any(String) as string,
  });
});

test('a path is away when what it was on is not mounted, whatever is there now', async () => {
  const look = await lookAtPath(folder, { mountPoints: ['/'], mountedOn: folder });
  expect(look).toMatchObject({ is: 'away', isUnmounted: true, because: `nothing is mounted on ${folder}` });
  expect(await lookAtPath(folder, { mountPoints: ['/', folder], mountedOn: folder })).toMatchObject({ is: 'folder' });
});

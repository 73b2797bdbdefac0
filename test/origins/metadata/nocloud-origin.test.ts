import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { NoCloudOrigin, runProgram, type RunProgram } from '../../../src/origins/metadata/nocloud-origin.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { fetched } from '../fetching.ts';

const pod = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n';

test('the first seed folder with user-data counts', async () => {
  const folder = await temporaryFolder();
  const seedFolders = [join(folder, 'nocloud'), join(folder, 'nocloud-net')];
  const origin = new NoCloudOrigin({ url: new URL('nocloud://'), seedFolders, labelFolder: folder });
  expect(await fetched(origin)).toMatchObject({ message: 'this machine has no user-data' });
  await mkdir(join(folder, 'nocloud-net'));
  await writeFile(join(folder, 'nocloud-net', 'user-data'), pod);
  expect(await fetched(origin)).toBe(pod);
  expect(await fetched(origin, pod)).toBe('unchanged');
});

test('a URL may name the folder', async () => {
  const folder = join(await temporaryFolder(), 'a seed');
  await mkdir(folder);
  await writeFile(join(folder, 'user-data'), pod);
  const url = new URL(`nocloud://${pathToFileURL(folder).pathname}`);
  expect(await fetched(new NoCloudOrigin({ url }))).toBe(pod);
});

test('a link in the place of user-data is refused', async () => {
  const folder = await temporaryFolder();
  await symlink('/etc/passwd', join(folder, 'user-data'));
  const url = new URL(`nocloud://${folder}`);
  expect(await fetched(new NoCloudOrigin({ url }))).toMatchObject({ kind: 'refused' });
});

test('a disk is read once', async () => {
  const labelFolder = await temporaryFolder();
  await writeFile(join(labelFolder, 'cidata'), '');
  const runs: string[] = [];
  const run: RunProgram = (file, args) => {
    runs.push([file, ...args.slice(0, 3), args.at(-2)].join(' ').replace(labelFolder, 'LABELS'));
    return Promise.resolve(Buffer.from(pod));
  };
  const origin = new NoCloudOrigin({ url: new URL('nocloud://'), seedFolders: [], labelFolder, run });
  expect(await fetched(origin)).toBe(pod);
  expect(await fetched(origin, pod)).toBe('unchanged');
  expect(runs).toEqual(['unshare --mount --propagation private LABELS/cidata']);
});

test('a disk without manifests is read once, and its failure lasts until the disk changes', async () => {
  const labelFolder = await temporaryFolder();
  const disk = join(labelFolder, 'cidata');
  await writeFile(disk, '');
  let [userData, runs] = ['#!/bin/sh\n', 0];
  const run: RunProgram = () => {
    runs += 1;
    return Promise.resolve(Buffer.from(userData));
  };
  const origin = new NoCloudOrigin({ url: new URL('nocloud://'), seedFolders: [], labelFolder, run });
  const failure = expect.objectContaining({ message: 'the user data is a script' }) as unknown;
  expect(await fetched(origin, pod)).toEqual(failure);
  expect(await fetched(origin, pod)).toEqual(failure);
  expect(runs).toBe(1);
  userData = pod;
  await utimes(disk, 1, 1);
  expect(await fetched(origin, 'other')).toBe(pod);
  expect(await fetched(origin, pod)).toBe('unchanged');
  expect(runs).toBe(2);
});

test('what is not a file system is refused with the reason', async () => {
  const labelFolder = await temporaryFolder();
  await writeFile(join(labelFolder, 'cidata'), 'text');
  const origin = new NoCloudOrigin({ url: new URL('nocloud://'), seedFolders: [], labelFolder });
  const refused = await fetched(origin);
  expect(refused).toMatchObject({ kind: 'refused', hint: expect.stringContaining('ISO 9660 or VFAT') as string });
});

test('the output of a program keeps its last newline, which counts for the limit of a manifest', async () => {
  expect(Buffer.from(await runProgram('printf', ['a\\n']))).toEqual(Buffer.from('a\n'));
});

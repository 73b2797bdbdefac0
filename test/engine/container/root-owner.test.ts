import { cp, mkdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { findRootOwner, keepRootOwner, type RootOwner } from '../../../src/engine/container/root-owner.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let folder: string;
let rootDir: string;
/** Owners of sandboxes in the runtime, by the root-dir in which their files are. */
let inRuntime: Record<string, string>;

beforeEach(async () => {
  folder = await temporaryFolder();
  rootDir = join(folder, 'root');
  inRuntime = {};
  await mkdir(rootDir);
});

function find(at = rootDir, now = 1000): Promise<RootOwner> {
  return findRootOwner({ rootDir: at, now, recover: (dir) => Promise.resolve(inRuntime[dir]) });
}

async function made(): Promise<RootOwner> {
  const owner = await find();
  await keepRootOwner(owner);
  return owner;
}

test('a new root-dir is somebody new', async () => {
  const [one, other] = [await find(), await find()];
  expect(one).toEqual({ id: expect.stringMatching(/^[0-9]{18}$/) as string, rootDir, since: 1000 });
  expect(other.id).not.toBe(one.id);
});

test('it is the same one after a restart, and root alone reads who it is', async () => {
  const owner = await made();
  expect(await find(rootDir, 2000)).toEqual(owner);
  expect((await stat(join(rootDir, 'state', 'owner.json'))).mode & 0o777).toBe(0o600);
});

test('it stays the same one when it is moved, or reached through a link', async () => {
  const owner = await made();
  await symlink(rootDir, join(folder, 'link'));
  expect(await find(join(folder, 'link'))).toEqual(owner);
  const moved = join(folder, 'moved');
  await rename(rootDir, moved);
  expect(await find(moved)).toEqual({ ...owner, rootDir: moved });
});

test('a copy next to its original is another owner', async () => {
  const owner = await made();
  const copy = join(folder, 'copy');
  await cp(rootDir, copy, { recursive: true });
  expect((await find(copy)).id).not.toBe(owner.id);
  expect(await find()).toEqual(owner);
});

test.each(['', '{', 'null', '{"id":"1"}', '{"id":"abc","rootDir":"/","since":0}'])(
  'a file that was lost, as %j, is made good by what the runtime has of the root-dir',
  async (text) => {
    const owner = await made();
    await writeFile(join(rootDir, 'state', 'owner.json'), text);
    inRuntime[rootDir] = owner.id;
    expect(await find(rootDir, 2000)).toEqual({ ...owner, since: 2000 });
  },
);

test('a root-dir that was removed and made again is the owner of the pods that still run', async () => {
  const owner = await made();
  await rm(rootDir, { recursive: true });
  inRuntime[rootDir] = owner.id;
  expect((await find()).id).toBe(owner.id);
});

test('nothing is written before it is asked for', async () => {
  await find();
  await expect(readFile(join(rootDir, 'state', 'owner.json'))).rejects.toThrow('ENOENT');
});

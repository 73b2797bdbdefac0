import { chown, lstat, mkdir, readdir, stat, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { listenForGroup, removeGroupSocket } from '../../../src/server/control/group-socket.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const group = { name: 'ops', gid: 12_345 };

let folders: string;
let folder: string;
let path: string;

beforeEach(async () => {
  folders = join(await temporaryFolder(), 'control');
  folder = join(folders, 'default');
  path = join(folder, 'kubelet-ts.sock');
});

async function listen(): Promise<void> {
  const server = createServer();
  onTestFinished(() => {
    server.close();
  });
  await listenForGroup(server, path, group);
}

async function rightsOf(place: string): Promise<{ mode: string; uid: number; gid: number }> {
  const { mode, uid, gid } = await stat(place);
  return { mode: (mode & 0o777).toString(8), uid, gid };
}

test('root and the group may open the socket, and nothing else is in its folder', async () => {
  const before = process.umask(0o077);
  onTestFinished(() => void process.umask(before));
  await listen();
  expect({
    folders: await rightsOf(folders),
    folder: await rightsOf(folder),
    socket: await rightsOf(path),
    files: await readdir(folder),
  }).toEqual({
    folders: { mode: '755', uid: 0, gid: 0 },
    folder: { mode: '750', uid: 0, gid: 12_345 },
    socket: { mode: '660', uid: 0, gid: 12_345 },
    files: ['kubelet-ts.sock', 'kubelet-ts.sock.holder'],
  });
});

test('a folder of another group or mode is taken', async () => {
  await mkdir(folder, { recursive: true, mode: 0o777 });
  await chown(folder, 0, 99);
  await listen();
  expect(await rightsOf(folder)).toEqual({ mode: '750', uid: 0, gid: 12_345 });
});

test.each(['control', 'default'])('refuses a folder %s of another user', async (name) => {
  await mkdir(folder, { recursive: true });
  const taken = name === 'control' ? folders : folder;
  await chown(taken, 65_534, 65_534);
  await expect(listen()).rejects.toMatchObject({
    name: 'UserError',
    message: `${taken} belongs to user 65534, so it cannot hold the control socket of a group`,
  });
});

test.each(['control', 'default'])('refuses a link in the place of the folder %s', async (name) => {
  const target = join(folders, '..', 'target');
  await mkdir(target, { mode: 0o700 });
  if (name === 'default') await mkdir(folders);
  await symlink(target, name === 'control' ? folders : folder);
  await expect(listen()).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringMatching(/^the control socket for the group ops cannot be created: /) as string,
    hint: 'Fix that, or start without --control-group.',
  });
  expect(await rightsOf(target)).toEqual({ mode: '700', uid: 0, gid: 0 });
});

test('the folder is removed with the socket, also one that a killed agent left', async () => {
  await listen();
  removeGroupSocket(path);
  await expect(lstat(folder)).rejects.toThrow('ENOENT');
  removeGroupSocket(path);
  await listen();
  await listen();
  expect(await readdir(folder)).toEqual(['kubelet-ts.sock', 'kubelet-ts.sock.holder']);
});

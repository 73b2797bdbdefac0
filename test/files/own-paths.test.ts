import { once } from 'node:events';
import { chmod, chown, lchown, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { refuseForeignRootDir, refuseForeignSocket } from '../../src/files/own-paths.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const nobody = 65_534;

test.each(['', 'applied', 'containerd', 'images', 'pods', 'state', 'state/operations', 'manifests-last-good'])(
  'a root-dir is refused if another user owns or may write its "%s", or it is a link',
  async (name) => {
    const top = await temporaryFolder();
    const rootDir = join(top, 'root-dir');
    const folder = join(rootDir, name);
    await mkdir(folder, { recursive: true, mode: 0o755 });
    const problem = (): string | undefined => {
      try {
        refuseForeignRootDir(rootDir);
        return undefined;
      } catch (error) {
        return (error as Error).message;
      }
    };
    const found = { own: problem() };
    await chown(folder, nobody, 0);
    const foreign = { owner: problem() };
    await chown(folder, 0, nobody);
    await chmod(folder, 0o775);
    const group = { group: problem() };
    await chown(folder, 0, 0);
    const ownGroup = { ownGroup: problem() };
    await chmod(folder, 0o1777);
    const all = { all: problem() };
    await chmod(folder, 0o755);
    const real = join(top, 'real');
    await mkdir(real);
    await rm(folder, { recursive: true });
    await symlink(real, folder);
    const link = { link: problem() };
    const message = `the root-dir cannot be trusted: ${folder === `${rootDir}/` ? rootDir : folder}`;
    expect({ ...found, ...foreign, ...group, ...ownGroup, ...all, ...link }).toEqual({
      own: undefined,
      owner: `${message} belongs to user ${nobody}`,
      group: `${message} is writable for others`,
      ownGroup: undefined,
      all: `${message} is writable for others`,
      link: `${message} is a link`,
    });
  },
);

test('a file in the place of a folder is no problem of trust', async () => {
  const rootDir = await temporaryFolder();
  await writeFile(join(rootDir, 'cni'), '');
  expect(() => {
    refuseForeignRootDir(rootDir);
  }).not.toThrow();
});

test('a root-dir that does not exist is no problem', async () => {
  const file = join(await temporaryFolder(), 'missing');
  expect(() => {
    refuseForeignRootDir(file);
  }).not.toThrow();
});

test('a control socket is refused if another user owns it or its folder, or may replace it', async () => {
  const top = await temporaryFolder();
  const folder = join(top, 'folder');
  await mkdir(folder, { mode: 0o755 });
  const path = join(folder, 'kubelet-ts.sock');
  const server = createServer().listen(path);
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const problem = (): string | undefined => {
    try {
      refuseForeignSocket(path);
      return undefined;
    } catch (error) {
      return (error as Error).message.replace(`the control socket ${path} is not trusted: it `, '');
    }
  };
  const own = problem();
  await lchown(path, nobody, 0);
  const foreign = problem();
  await lchown(path, 0, 0);
  await chown(folder, nobody, 0);
  const foreignFolder = problem();
  await chown(folder, 0, 0);
  await chmod(folder, 0o777);
  const shared = problem();
  await chmod(folder, 0o1777);
  const sticky = problem();
  expect({ own, foreign, foreignFolder, shared, sticky }).toEqual({
    own: undefined,
    foreign: 'belongs to user 65534',
    foreignFolder: 'belongs to user 65534',
    shared: 'is in a folder where others may write',
    sticky: undefined,
  });
});

import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { PodDirs } from '../../../src/engine/host/pod-dirs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let rootDir: string;
let podDirs: PodDirs;

beforeEach(async () => {
  rootDir = await temporaryFolder();
  podDirs = new PodDirs({ rootDir });
  await mkdir(join(rootDir, 'pods', 'good', 'volumes'), { recursive: true });
  await writeFile(join(rootDir, 'precious'), '');
});

const noFolders = ['', '.', '..', '../precious', 'a/b', '/etc', 'a\0b', 'a'.repeat(256)];

test.each(noFolders)('a pod of UID %j has no folder, and its removal removes nothing', async (uid) => {
  expect(() => podDirs.podDir(uid)).toThrow(`metadata.uid ${JSON.stringify(uid)} is not the name of a folder`);
  await podDirs.removePodDir(uid);
  expect([await readdir(rootDir), await readdir(join(rootDir, 'pods'))]).toEqual([['pods', 'precious'], ['good']]);
});

test.each(['a\nb', 'a\x1b[2Jb', ' ', '-rf', 'a'.repeat(255), '\u202e'])(
  'a folder %j of an earlier release goes',
  async (uid) => {
    await mkdir(join(rootDir, 'pods', uid));
    expect(await podDirs.podUIDs()).toContain(uid);
    await podDirs.removePodDir(uid);
    expect(await podDirs.podUIDs()).toEqual(['good']);
  },
);

test('a folder whose name is not UTF-8 belongs to no pod', async () => {
  await mkdir(Buffer.concat([Buffer.from(`${rootDir}/pods/a`), Buffer.from([0xff])]));
  expect(await podDirs.podUIDs()).toEqual(['good']);
});

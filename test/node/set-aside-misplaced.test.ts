import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { setAsideMisplaced } from '../../src/node/set-aside-misplaced.ts';
import { lineLogger } from '../fakes/line-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('a file in the place of a folder of the agent is renamed, and nothing else', async () => {
  const rootDir = await temporaryFolder();
  for (const name of ['cni', 'images', 'device-plugins']) await writeFile(join(rootDir, name), '');
  await mkdir(join(rootDir, 'state'));
  await writeFile(join(rootDir, 'state/operations'), '{');
  await symlink('elsewhere', join(rootDir, 'pods'));
  const { logger, lines } = lineLogger();
  await setAsideMisplaced(rootDir, logger);
  expect((await readdir(rootDir)).toSorted()).toEqual([
    'cni.damaged',
    'device-plugins.damaged',
    'images',
    'pods',
    'state',
  ]);
  expect(await readdir(join(rootDir, 'state'))).toEqual(['operations.damaged']);
  const line = (name: string): string => {
    const path = join(rootDir, name);
    const facts = { path, aside: `${path}.damaged`, err: 'it is a file where a folder belongs' };
    return `warn A damaged state file was set aside ${JSON.stringify(facts)}`;
  };
  expect(lines).toEqual(['cni', 'device-plugins', 'state/operations'].map(line));
});

test('a folder in the place of a file of the agent is renamed', async () => {
  const rootDir = await temporaryFolder();
  await mkdir(join(rootDir, 'containerd/config.toml'), { recursive: true });
  const { logger, lines } = lineLogger();
  await setAsideMisplaced(rootDir, logger);
  expect(await readdir(join(rootDir, 'containerd'))).toEqual(['config.toml.damaged']);
  const path = join(rootDir, 'containerd/config.toml');
  const facts = { path, aside: `${path}.damaged`, err: 'it is a folder where a file belongs' };
  expect(lines).toEqual([`warn A damaged state file was set aside ${JSON.stringify(facts)}`]);
});

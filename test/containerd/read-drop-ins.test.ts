import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readDropIns } from '../../src/containerd/read-drop-ins.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** A containerd that refuses each file with these words. */
async function refusing(words: string): Promise<Parameters<typeof readDropIns>[1]> {
  const containerd = join(await temporaryFolder(), 'containerd');
  await writeFile(containerd, `#!/bin/sh\nprintf '%s' '${words}' >&2\nexit 1\n`, { mode: 0o755 });
  return { containerd, version: { major: 1, minor: 7, patch: 0, text: '1.7.0' } };
}

const none = { accepted: [], refused: [], unknown: [], stamp: '' };

test('a folder that cannot be read is reported, and containerd starts without it', async () => {
  const path = join(await temporaryFolder(), 'conf.d');
  const containerd = await refusing('');
  expect(await readDropIns(path, containerd)).toEqual(none);
  await writeFile(path, '');
  expect(await readDropIns(path, containerd)).toEqual({ ...none, refused: [`${path} is left out: not a directory`] });
});

test('a refusal of several lines is one sentence', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'a.toml'), 'version = 2\n');
  const words = 'time=now level=warning\ncontainerd: failed to unmarshal: cannot convert [a = 1\n](list) to a table\n';
  expect((await readDropIns(folder, await refusing(words))).refused).toEqual([
    `${folder}/a.toml is left out: containerd: failed to unmarshal: cannot convert [a = 1 ](list) to a table`,
  ]);
});

test('what is not a file is named without the words of Node', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'folder.toml'));
  await symlink('loop.toml', join(folder, 'loop.toml'));
  await symlink('missing', join(folder, 'missing.toml'));
  expect((await readDropIns(folder, await refusing(''))).refused).toEqual([
    `${folder}/folder.toml is left out: ${folder}/folder.toml is a directory, not a regular file`,
    `${folder}/loop.toml is left out: too many symbolic links encountered`,
    `${folder}/missing.toml is left out: it is a broken link`,
  ]);
});

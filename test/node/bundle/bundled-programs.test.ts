import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pluginsIn } from '../../../src/node/bundle/bundled-programs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('a bundle takes the plugins of a folder, and nothing that it could not be installed with', async () => {
  const folder = await temporaryFolder();
  for (const name of ['bridge', 'README.md', '.kubernetes-cni-keep', 'bridge~', 'my plugin']) {
    await writeFile(join(folder, name), '');
  }
  await mkdir(join(folder, 'old'));
  await symlink('bridge', join(folder, 'calico'));
  await symlink('missing', join(folder, 'flannel'));
  expect(await pluginsIn(folder)).toEqual(
    ['README.md', 'bridge', 'calico'].map((name) => ({ name: `cni/${name}`, source: join(folder, name) })),
  );
});

import { chmod, mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readPath } from '../../../src/node/doctor/read-host-facts.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('checks the target of a root-dir that is a link', async () => {
  const folder = await temporaryFolder();
  const [target, link] = [join(folder, 'data'), join(folder, 'kubelet-ts')];
  await mkdir(target);
  await chmod(target, 0o750);
  await symlink(target, link);
  expect(await readPath('root-dir', link)).toEqual({
    what: 'root-dir',
    path: link,
    found: { uid: process.geteuid?.(), mode: 0o40750, isLink: true },
  });
});

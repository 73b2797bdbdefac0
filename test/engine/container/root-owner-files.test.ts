import { execFileSync } from 'node:child_process';
import { mkdir, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findRootOwner } from '../../../src/engine/container/root-owner.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const recovered = '123456789012345678';

test.each<[kind: string, make: (file: string) => unknown]>([
  ['a directory', (file) => mkdir(file)],
  ['a named pipe', (file) => execFileSync('mkfifo', [file])],
  ['a link to itself', (file) => symlink(file, file)],
  ['a link to a device', (file) => symlink('/dev/null', file)],
  ['larger than any owner', (file) => writeFile(file, '').then(() => truncate(file, 3 * 2 ** 30))],
])('takes the owner from the runtime if its file is %s', async (_, make) => {
  const rootDir = await temporaryFolder();
  await mkdir(join(rootDir, 'state'));
  await make(join(rootDir, 'state', 'owner.json'));
  const owner = await findRootOwner({ rootDir, now: 7, recover: () => Promise.resolve(recovered) });
  expect(owner).toEqual({ id: recovered, rootDir, since: 7 });
});

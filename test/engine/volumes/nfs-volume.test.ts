import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mountNFS } from '../../../src/engine/volumes/nfs-volume.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const share = { source: { server: '::1', path: '/exports/a' }, mountOptions: ['no-such-option', 'retry=0'] };

test('without mount.nfs the error says which package to install', async () => {
  const folder = await temporaryFolder();
  await expect(mountNFS(join(folder, 'share'), share, [folder])).rejects.toMatchObject({
    message: 'this machine cannot mount NFS shares: the program mount.nfs is missing',
    hint: 'Install nfs-common (Debian, Ubuntu) or nfs-utils (Fedora, Alpine).',
  });
  expect(await readdir(folder)).toEqual([]);
});

test('the error quotes mount if a share cannot be mounted', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'mount.nfs'), '');
  await expect(mountNFS(join(folder, 'share'), share, [folder])).rejects.toThrow(/mount/);
});

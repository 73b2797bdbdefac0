import { createHash } from 'node:crypto';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { blobsFolder, removeDamagedBlobs } from '../../src/containerd/damaged-blobs.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('removes a blob with other content, and none that is whole or that containerd has just removed', async () => {
  const root = await temporaryFolder();
  await mkdir(blobsFolder(root), { recursive: true });
  const [ctr, log] = [join(root, 'ctr'), join(root, 'log')];
  await writeFile(ctr, `#!/bin/sh\necho "$@" >> ${log}\n`, { mode: 0o755 });
  const [whole = '', damaged = '', gone = ''] = ['a', 'b', 'c'].map((text) =>
    createHash('sha256').update(text).digest('hex'),
  );
  await writeFile(join(blobsFolder(root), whole), 'a');
  await writeFile(join(blobsFolder(root), damaged), '');
  // It is listed, and cannot be opened.
  await symlink(join(root, 'nowhere'), join(blobsFolder(root), gone));

  const store = { ctr, ctrVersion: { major: 1, minor: 7 }, address: 'socket' };
  const removed = await removeDamagedBlobs(store, root, new AbortController().signal);
  expect(removed).toEqual([`sha256:${damaged}`]);
  expect(await readFile(log, 'utf8')).toBe(`--address socket --namespace k8s.io content rm sha256:${damaged}\n`);
});

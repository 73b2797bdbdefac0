import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import { expect, test } from 'vitest';
import { blobsFolder } from '../../src/containerd/damaged-blobs.ts';
import { chainID, parseTopFolder, restoreUnpackedImage } from '../../src/containerd/restore-image.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('names the snapshot of one layer by its digest, and of more by the digest of their chain', () => {
  expect(chainID(['sha256:a'])).toBe('sha256:a');
  // printf 'sha256:a sha256:b' | sha256sum
  expect(chainID(['sha256:a', 'sha256:b'])).toBe(
    'sha256:970a948bffa8de94d6e22d747ba8c95030e6e546909f98f54e99a13005e173a8',
  );
});

test.each([
  ['mount -t bind /r/snapshots/2/fs /x -o ro,rbind', '/r/snapshots/2/fs'],
  ['mount -t overlay overlay /x -o index=off,lowerdir=/r/snapshots/3/fs:/r/snapshots/2/fs', '/r/snapshots/3/fs'],
  ['nothing', undefined],
])('finds the folder of the topmost layer in %j', (mount, folder) => {
  expect(parseTopFolder(mount)).toBe(folder);
});

test('two repairs at once do not take the view of each other', async () => {
  const root = await temporaryFolder();
  const [ctr, unpacked] = [join(root, 'ctr'), join(root, 'unpacked')];
  for (const folder of [blobsFolder(root), unpacked]) await mkdir(folder, { recursive: true });
  const addBlob = async (content: Buffer | object): Promise<{ digest: string }> => {
    const bytes = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
    const sum = createHash('sha256').update(bytes).digest('hex');
    await writeFile(join(blobsFolder(root), sum), bytes);
    return { digest: `sha256:${sum}` };
  };
  const tar = pack();
  tar.entry({ name: 'pause' }, 'program');
  tar.finalize();
  const layer = await addBlob(await buffer(tar));
  const config = await addBlob({ rootfs: { diff_ids: [layer.digest] } });
  const { digest } = await addBlob({ config, layers: [layer] });
  await writeFile(join(unpacked, 'pause'), '');
  const view = join(root, 'view');
  const script = `case "$*" in
    *' images ls '*) echo "localhost/a:1 ${digest}";;
    *' rm '*) rmdir ${view};;
    *' view '*) mkdir ${view} && echo "mount -t bind ${unpacked} / -o ro";;
  esac`;
  await writeFile(ctr, `#!/bin/sh\n${script}\n`, { mode: 0o755 });

  const store = { ctr, ctrVersion: { major: 1, minor: 7 }, address: 'socket' };
  const { signal } = new AbortController();
  const restore = (): Promise<string[]> => restoreUnpackedImage(store, 'localhost/a:1', { root, signal });
  const both = await Promise.all([restore(), restore()]);
  expect(both.flat()).toContain('/pause');
  expect(await readFile(join(unpacked, 'pause'), 'utf8')).toBe('program');
});

import { expect, test } from 'vitest';
import { chainID, parseTopFolder } from '../../src/containerd/restore-image.ts';

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

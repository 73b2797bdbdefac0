import { expect, test } from 'vitest';
import { findReadOnlyMount } from '../../src/files/read-only-mount.ts';

const mounts = [
  '20 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw',
  '21 20 8:2 / /data rw,relatime shared:1 - ext4 /dev/sda2 rw,emergency_ro,errors=remount-ro',
  '22 20 8:3 / /old rw,relatime - ext4 /dev/sda3 ro,errors=remount-ro',
  '23 20 8:4 / /my\\040box ro,relatime - ext4 /dev/sda4 rw',
  '24 21 8:5 / /data/new rw - tmpfs tmpfs rw',
  '25 20 8:6 / /twice ro - ext4 /dev/sda5 rw',
  '26 20 8:6 / /twice rw - ext4 /dev/sda6 rw',
].join('\n');

test.each([
  ['/var/lib/kubelet-ts', undefined],
  ['/data/kubelet-ts', '/data'],
  ['/database', undefined],
  ['/old', '/old'],
  ['/my box/kubelet-ts', '/my box'],
  ['/data/new/root', undefined],
  ['/twice/root', undefined],
])('knows whether the disk of %s is read-only', (path, point) => {
  expect(findReadOnlyMount(path, mounts)).toBe(point);
});

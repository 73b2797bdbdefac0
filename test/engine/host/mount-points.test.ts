import { expect, test } from 'vitest';
import { mountPointOf, readMountPoints } from '../../../src/engine/host/mount-points.ts';

test('this process sees the root, and /proc on its own', async () => {
  const mountPoints = await readMountPoints();
  expect(mountPoints).toEqual(expect.arrayContaining(['/', '/proc']));
  expect(mountPoints.filter((mountPoint) => !mountPoint.startsWith('/'))).toEqual([]);
});

test.each([
  ['/data/manifests/web.yaml', '/data/manifests'],
  ['/data/manifests', '/data/manifests'],
  ['/data/other', '/data'],
  ['/database', '/'],
  ['/', '/'],
])('%s lies on %s', (path, mountPoint) => {
  expect(mountPointOf(path, ['/', '/proc', '/data', '/data/manifests'])).toBe(mountPoint);
});

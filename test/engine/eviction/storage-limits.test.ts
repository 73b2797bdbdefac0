import { expect, test } from 'vitest';
import type { PodUsage } from '../../../src/engine/eviction/node-summary.ts';
import { exceededStorageLimit } from '../../../src/engine/eviction/storage-limits.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';

const mebibyte = 1024 * 1024;
const fs = (mebibytes: number) => ({ time: '', usedBytes: mebibytes * mebibyte });
const oneDisk = { dedicatedImageFs: false, splitContainerImageFs: false };
const twoDisks = { dedicatedImageFs: true, splitContainerImageFs: false };

const limited = makePod({
  spec: {
    containers: [
      makeContainer({ name: 'app', resources: { limits: { 'ephemeral-storage': '10Mi' } } }),
      makeContainer({ name: 'log', resources: { limits: { 'ephemeral-storage': '20Mi' } } }),
    ],
    volumes: [
      { name: 'cache', emptyDir: { sizeLimit: '5Mi' } },
      { name: 'other', emptyDir: {} },
    ],
  },
});

const calm: PodUsage = {
  podRef: { uid: 'u1' },
  containers: [
    { name: 'app', rootfs: fs(6), logs: fs(4) },
    { name: 'log', logs: fs(20) },
  ],
  volume: [
    { name: 'cache', ...fs(5) },
    { name: 'other', ...fs(500) },
  ],
  'ephemeral-storage': fs(30),
};

test.each<[string, Partial<PodUsage>, { signal: string; message: string } | undefined]>([
  ['up to its limits', {}, undefined],
  [
    'an emptyDir beyond its limit',
    { volume: [{ name: 'cache', ...fs(6) }] },
    { signal: 'emptydirfs.limit', message: 'Usage of EmptyDir volume "cache" exceeds the limit "5Mi". ' },
  ],
  [
    'the whole pod beyond the sum of its limits',
    { 'ephemeral-storage': fs(31) },
    {
      signal: 'ephemeralpodfs.limit',
      message: 'Pod ephemeral local storage usage exceeds the total limit of containers 30Mi. ',
    },
  ],
  [
    'a container beyond its limit, with its logs',
    { containers: [{ name: 'app', rootfs: fs(6), logs: fs(5) }] },
    {
      signal: 'ephemeralcontainerfs.limit',
      message: 'Container app exceeded its local ephemeral storage limit "10Mi". ',
    },
  ],
])('%s', (_title, usage, exceeded) => {
  expect(exceededStorageLimit(limited, { ...calm, ...usage }, oneDisk)).toEqual(exceeded);
});

test('the writable layer of a container does not count if it is on another disk', () => {
  const containers = [{ name: 'app', rootfs: fs(600), logs: fs(5) }];
  expect(exceededStorageLimit(limited, { ...calm, containers }, twoDisks)).toBeUndefined();
});

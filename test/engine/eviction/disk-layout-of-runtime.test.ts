import { expect, test } from 'vitest';
import { ImageFsInfoResponse } from '../../../src/cri/generated/cri.ts';
import { diskLayoutOfRuntime } from '../../../src/engine/eviction/disk-layout-of-runtime.ts';

const devices: Readonly<Record<string, bigint>> = { '/root': 1n, '/root/images': 1n, '/images': 2n, '/layers': 3n };

function layout(images: string | undefined, containers?: string) {
  const at = (mountpoint: string | undefined) => (mountpoint === undefined ? [] : [{ fsId: { mountpoint } }]);
  const imageFsInfo = () =>
    Promise.resolve(
      ImageFsInfoResponse.fromPartial({ imageFilesystems: at(images), containerFilesystems: at(containers) }),
    );
  const deviceOf = (path: string) => Promise.resolve(devices[path] ?? 0n);
  return diskLayoutOfRuntime(
    { imageService: { imageFsInfo }, rootDir: '/root', deviceOf },
    new AbortController().signal,
  );
}

test('images and containers are on the disk of the root-dir, on another one, or on two others', async () => {
  const single = { dedicatedImageFs: false, splitContainerImageFs: false };
  expect(await layout('/root/images')).toEqual(single);
  expect(await layout('/root/images', '/root/images')).toEqual(single);
  expect(await layout('/images', '/images')).toEqual({ dedicatedImageFs: true, splitContainerImageFs: false });
  expect(await layout('/images', '/layers')).toEqual({ dedicatedImageFs: true, splitContainerImageFs: true });
});

test('a runtime that does not report it is an error', async () => {
  await expect(layout(undefined)).rejects.toThrow('the runtime does not report where its images are');
});

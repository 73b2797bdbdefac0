import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { isCutOff } from '../../src/containerd/cut-off-archive.ts';
import { pauseImageArchive } from '../../src/containerd/pause/pause-image.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const whole = await pauseImageArchive('x64');
const gzip = gzipSync(whole);

test.each([
  ['a whole archive', whole, false],
  ['a compressed archive', gzip, false],
  ['the first half of an archive', whole.subarray(0, whole.length / 2), true],
  ['an archive without its end', whole.subarray(0, -1024), true],
  ['an empty file', Buffer.alloc(0), true],
  ['the first half of a compressed archive', gzip.subarray(0, gzip.length / 2), true],
  ['a compressed half', gzipSync(whole.subarray(0, whole.length / 2)), true],
])('%s', async (_what, bytes, expected) => {
  const file = join(await temporaryFolder(), 'a.tar');
  await writeFile(file, bytes);
  expect(await isCutOff(file, new AbortController().signal)).toBe(expected);
});

test('a file that cannot be read is not known to be cut off', async () => {
  expect(await isCutOff(await temporaryFolder(), new AbortController().signal)).toBe(false);
});

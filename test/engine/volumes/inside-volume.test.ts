import { chmod, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeFolderInsideVolume } from '../../../src/engine/volumes/inside-volume.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

test('every folder that is made inside a volume has the permissions of the volume', async () => {
  const volume = await temporaryFolder();
  await chmod(volume, 0o777);
  await makeFolderInsideVolume(volume, 'x/y/z');
  const modes = ['x', 'x/y', 'x/y/z'].map(async (path) => (await stat(join(volume, path))).mode & 0o7777);
  expect(await Promise.all(modes)).toEqual([0o777, 0o777, 0o777]);
});

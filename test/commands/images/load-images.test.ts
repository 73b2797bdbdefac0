import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadImages } from '../../../src/commands/images/load-images.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeDeps, makeRuntime } from '../runtime-listings.ts';

test.each([
  ['is missing', 'nope.tar', 'no such file'],
  ['is a folder', '.', 'it is a folder'],
])('an archive that %s is reported before a container runtime is searched', async (_what, name, reason) => {
  const rootDir = await temporaryFolder();
  const [good, bad] = [join(rootDir, 'good.tar'), join(rootDir, name)];
  await writeFile(good, '');
  const flags = { rootDir, containerRuntimeEndpoint: `unix://${join(rootDir, 'none.sock')}` };
  await expect(loadImages([good, bad], flags, makeDeps(makeRuntime([], [])))).rejects.toMatchObject({
    name: 'UserError',
    message: `Could not import the image archive ${bad}: ${reason}`,
  });
});

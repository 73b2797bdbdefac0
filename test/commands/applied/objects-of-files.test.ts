import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { objectsOfFiles } from '../../../src/commands/applied/objects-of-files.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeDeps, makeRuntime } from '../runtime-listings.ts';

test.each([
  [1, 'nothing was applied, because of the error above'],
  [2, 'nothing was applied, because of the 2 errors above'],
])('the consequence of %d errors comes first', async (count, message) => {
  const folder = await temporaryFolder();
  const paths = Array.from({ length: count }, (_, index) => join(folder, `${index}.yaml`));
  for (const path of paths) await writeFile(path, '{');
  const request = { paths, nodeName: 'edge1', namespace: undefined, consequence: 'nothing was applied' };
  const deps = makeDeps(makeRuntime([], []));
  await expect(objectsOfFiles(request, deps)).rejects.toMatchObject({ name: 'UserError', message });
});

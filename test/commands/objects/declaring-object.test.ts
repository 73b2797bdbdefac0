import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findDeclaringObject, isWithin } from '../../../src/commands/objects/declaring-object.ts';
import { podText } from '../../builders/loaded-manifests.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('the lines of an object in a file of several are its own', async () => {
  const file = join(await temporaryFolder(), 'all.yaml');
  const text = ['a', 'b', 'c'].map(podText).join('---\n');
  await writeFile(file, text);
  const found = await findDeclaringObject([{ source: 'file', where: file }], { namespace: 'default', names: ['b'] });
  const lines = text.split('\n').map((_line, index) => index + 1);
  expect(found && lines.filter((line) => isWithin(found.object, line))).toEqual([6, 7, 8, 9]);
});

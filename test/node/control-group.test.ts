import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findControlGroup } from '../../src/node/control-group.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const groups = 'root:x:0:\nops:x:1001:ada,bob\nopsmore:x:1002:\nbroken:x:none:\n';
const hint = 'Create it with groupadd. For a group from elsewhere, such as LDAP, give its number.';

async function groupFile(): Promise<string> {
  const file = join(await temporaryFolder(), 'group');
  await writeFile(file, groups);
  return file;
}

test.each([
  ['', undefined],
  ['ops', { name: 'ops', gid: 1001 }],
  ['root', { name: 'root', gid: 0 }],
  ['77', { name: '77', gid: 77 }],
])('"%s" names %o', async (name, group) => {
  expect(await findControlGroup(name, await groupFile())).toEqual(group);
});

test.each(['op', 'x', 'broken', '-1', 'ops:x'])('"%s" is not a group', async (name) => {
  const file = await groupFile();
  const found = findControlGroup(name, file);
  await expect(found).rejects.toMatchObject({ message: `controlGroup: ${file} has no group "${name}"`, hint });
});

test('a number above the largest id, and a missing file, are errors', async () => {
  await expect(findControlGroup('4294967295')).rejects.toMatchObject({
    message: 'controlGroup: 4294967295 is not the number of a group',
    hint: 'It is at most 4294967294.',
  });
  await expect(findControlGroup('ops', '/nowhere/group')).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining('controlGroup: /nowhere/group cannot be read: ') as string,
  });
});

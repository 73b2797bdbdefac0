import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { givenVariables } from '../../../src/node/run-once/environment-file.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const fileOf = async (text: string): Promise<string> => {
  const path = join(await temporaryFolder(), 'env');
  await writeFile(path, text);
  return path;
};

test('values are as they are, names take those of the environment, and later ones win', async () => {
  const file = await fileOf('# comment\n\nA=1 "two" # no comment\r\n  B=\nC\nMISSING\nD=file\n');
  expect([...(await givenVariables({ envFile: [file], env: ['D=flag=1', 'E'] }, { C: 'c', E: 'e' }))]).toEqual([
    ['A', '1 "two" # no comment'],
    ['B', ''],
    ['C', 'c'],
    ['D', 'flag=1'],
    ['E', 'e'],
  ]);
});

test('a mistake names file and line', async () => {
  const file = await fileOf('A=1\n1B=2\n');
  await expect(givenVariables({ envFile: [file] }, {})).rejects.toThrow(
    `${file}:2: "1B" is not the name of a variable`,
  );
});

test('a file that cannot be read is an error', async () => {
  await expect(givenVariables({ envFile: ['/nowhere/env'] }, {})).rejects.toThrow(
    '--env-file: /nowhere/env: no such file',
  );
});

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readFailure, writeFailure } from '../../src/files/file-failure.ts';
import { replaceFile } from '../../src/files/write-file-atomic.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const reading = (path: string): Promise<string> =>
  readFile(path).then(
    () => 'read',
    (error: unknown) => readFailure(error),
  );
const writing = (path: string): Promise<string> =>
  replaceFile(path, Buffer.from('x')).then(
    () => 'written',
    (error: unknown) => writeFailure(path, error),
  );

test('the reason why a file cannot be used is in words', async () => {
  const folder = await temporaryFolder();
  const missing = join(folder, 'missing');
  expect([
    await reading(missing),
    await reading(folder),
    await reading(join(import.meta.filename, 'x')),
    await writing(join(missing, 'report.xml')),
    await writing(folder),
    readFailure(new Error('it is empty')),
  ]).toEqual([
    'no such file',
    'it is a folder',
    'not a directory',
    `there is no folder ${missing}`,
    'it is a folder',
    'it is empty',
  ]);
});

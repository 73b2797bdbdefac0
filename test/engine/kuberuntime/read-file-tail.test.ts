import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { readFileTail } from '../../../src/engine/kuberuntime/read-file-tail.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});

test.each([
  { content: 'last words', maxBytes: 5, tail: 'words' },
  { content: 'last words', maxBytes: 100, tail: 'last words' },
  { content: '', maxBytes: 5, tail: '' },
])('reads the last $maxBytes bytes of "$content"', async ({ content, maxBytes, tail }) => {
  const path = join(folder, 'message');
  await writeFile(path, content);
  expect(Buffer.from((await readFileTail(path, maxBytes)) ?? 'no file').toString()).toBe(tail);
});

test('is undefined for a file that does not exist', async () => {
  expect(await readFileTail(join(folder, 'message'), 5)).toBeUndefined();
});

test('throws for what is no file', async () => {
  await expect(readFileTail(folder, 5)).rejects.toThrow('EISDIR');
});

import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findTailOffset } from '../../../src/engine/logs/log-trail.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

async function tailOf(text: string, lineCount: number): Promise<string> {
  const path = join(await temporaryFolder(), 'file');
  await writeFile(path, text);
  const file = await open(path);
  try {
    return text.slice((await findTailOffset(file, lineCount)).offset);
  } finally {
    await file.close();
  }
}

test.each([
  ['a\nb\nc\n', 0, ''],
  ['a\nb\nc\n', 1, 'c\n'],
  ['a\nb\nc\n', 2, 'b\nc\n'],
  ['a\nb\nc\n', 3, 'a\nb\nc\n'],
  ['a\nb\nc\n', 9, 'a\nb\nc\n'],
  ['a\nb\nc', 1, 'b\nc'],
  ['a\n\n\n', 2, '\n\n'],
  ['', 5, ''],
  ['no newline', 1, 'no newline'],
])('finds in %j the last %i complete lines: %j', async (text, lineCount, expected) => {
  expect(await tailOf(text, lineCount)).toBe(expected);
});

test('finds lines across blocks, and those that end right at one', async () => {
  const line = `${'x'.repeat(64 * 1024 - 1)}\n`;
  expect(await tailOf(line.repeat(3), 2)).toBe(line.repeat(2));
  const long = `${'y'.repeat(200_000)}\n`;
  expect(await tailOf(`first\n${long}last\n`, 2)).toBe(`${long}last\n`);
});

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const hook = join(import.meta.dirname, '../../scripts/hooks/commit-msg');

test.each([
  ['tui: show the age of pods', 0],
  ['tui: show the age of pods\n\nBecause users ask for it.', 0],
  ['pod workers: stop sooner', 0],
  ['Show the age of pods', 1],
  ['tui:show the age of pods', 1],
  ['TUI: show the age of pods', 1],
  [`tui: ${'a'.repeat(67)}`, 0],
  [`tui: ${'a'.repeat(68)}`, 1],
])('the hook for commits ends %j with %i', async (message, expected) => {
  const file = join(await temporaryFolder(), 'message');
  await writeFile(file, message);
  expect((await execa(hook, [file], { reject: false })).exitCode).toBe(expected);
});

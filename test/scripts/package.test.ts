import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const script = join(import.meta.dirname, '../../scripts/package.mjs');
const usage = 'Usage: npm run package -- [folder]\n';

test.each([
  [['--help'], { exitCode: 0, stderr: '' }, usage],
  [['-h'], { exitCode: 0, stderr: '' }, usage],
  [['--hlep'], { exitCode: 2, stdout: '' }, `error: Unknown option '--hlep'\n${usage}`],
  [['a', 'b'], { exitCode: 2, stdout: '' }, `error: one folder is enough\n${usage}`],
])('npm run package -- %j makes nothing, and prints its usage', async (words, result, start) => {
  const cwd = await temporaryFolder();
  const { exitCode, stdout, stderr } = await execa('node', [script, ...words], { cwd, reject: false });
  expect({ exitCode, stdout, stderr }).toMatchObject(result);
  expect(`${stdout}${stderr}`.startsWith(start)).toBe(true);
  expect(await readdir(cwd)).toEqual([]);
});

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { program } from './program.ts';

/** Makes every file operation a promise that never settles, but for Node's own reads of the program. */
const neverSettles = `
const promises = require('node:fs/promises');
const functions = Object.keys(promises).filter((name) => typeof promises[name] === 'function');
for (const name of functions) {
  const original = promises[name];
  promises[name] = (path, ...more) =>
    String(path).includes('/dist/') ? original(path, ...more) : new Promise(() => undefined);
}
require('node:module').syncBuiltinESMExports();
`;

test('a command that waits for what never comes is an error', async () => {
  const folder = await temporaryFolder();
  const hook = join(folder, 'never.cjs');
  await writeFile(hook, neverSettles);
  const { exitCode, stderr } = await execa(program, ['ps', '--root-dir', folder], {
    reject: false,
    env: { NODE_OPTIONS: `--require=${hook}` },
  });
  expect({ exitCode, errors: stderr.split('\n').filter((text) => /^(error|hint):/.test(text)) }).toEqual({
    exitCode: 1,
    errors: [
      'error: this is a bug in kubelet-ts: the command stopped before it was done',
      'hint: Report it, with the command and what it printed. What it began may be incomplete.',
    ],
  });
});

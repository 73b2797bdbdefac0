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

test.each([
  ['ps', '--root-dir', 'FOLDER'],
  ['diff', 'FOLDER'],
])('%s is an error if it waits for what never comes', async (...words) => {
  const folder = await temporaryFolder();
  const hook = join(folder, 'never.cjs');
  await writeFile(hook, neverSettles);
  const line = words.map((word) => (word === 'FOLDER' ? folder : word));
  const { exitCode, stderr } = await execa(program, line, {
    reject: false,
    env: { NODE_OPTIONS: `--require=${hook}` },
  });
  expect({ exitCode, errors: stderr.split('\n').filter((text) => /^(error|hint):/.test(text)) }).toEqual({
    // For diff, 1 means changes.
    exitCode: words[0] === 'diff' ? 2 : 1,
    errors: [
      'error: this is a bug in kubelet-ts: the command stopped before it was done',
      'hint: Report it, with the command and what it printed. What it began may be incomplete.',
    ],
  });
});

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { register } from '../../src/commands/apply.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { makeDeps, makeRuntime } from './runtime-listings.ts';

test('apply refuses a namespace that no object can have, by the name of its flag', async () => {
  const rootDir = await temporaryFolder();
  const file = join(rootDir, 'web.yaml');
  await writeFile(file, 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n');
  const program = new Command().exitOverride();
  register(program, makeDeps(makeRuntime([], [])));
  const words = ['apply', '--root-dir', rootDir, '-f', file, '-n', 'Bad_NS'];
  await expect(program.parseAsync(words, { from: 'user' })).rejects.toMatchObject({
    name: 'UserError',
    message:
      '--namespace "Bad_NS" must consist of lower case letters, digits and "-", and start and end with a letter or digit',
  });
});

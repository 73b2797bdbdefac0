import { Command } from 'commander';
import { expect, test } from 'vitest';
import { register } from '../../../src/commands/ps.ts';
import { UserError } from '../../../src/errors.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeDeps, makeRuntime } from '../runtime-listings.ts';

/** Runs `ps` without an agent and a runtime. */
async function ps(...words: string[]): Promise<void> {
  const rootDir = await temporaryFolder();
  const connect = () => Promise.reject(new UserError('no container runtime was found'));
  const program = new Command();
  register(program, makeDeps(makeRuntime([], []), { connect }));
  await program.parseAsync(['ps', '--root-dir', rootDir, ...words], { from: 'user' });
}

test.each([
  ['--sort-by', '.status[', '".status[" is not a supported path, from "[" on'],
  ['-l', 'a=b=c', '"a=b=c" is not a label selector'],
  ['--field-selector', 'foo=bar', 'pods cannot be selected by the field "foo"'],
])('a wrong value of %s is reported before a missing runtime or agent', async (flag, value, message) => {
  await expect(ps(flag, value)).rejects.toMatchObject({ name: 'UserError', message });
  await expect(ps(flag, value, '--watch')).rejects.toMatchObject({ name: 'UserError', message });
});

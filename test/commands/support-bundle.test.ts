import { Command } from 'commander';
import { expect, test } from 'vitest';
import { register } from '../../src/commands/support-bundle.ts';
import { makeDeps, makeRuntime } from './runtime-listings.ts';

test.each(['bundle.tar.gz', '/tmp/bundle.tgz'])(
  'the archive %s without -o is not taken as a manifest',
  async (path) => {
    const program = new Command();
    register(program, makeDeps(makeRuntime([], [])));
    await expect(program.parseAsync(['support-bundle', path], { from: 'user' })).rejects.toMatchObject({
      name: 'UserError',
      message: `${path} is not a manifest`,
      hint: `To name the archive: kubelet-ts support-bundle -o ${path}`,
    });
  },
);

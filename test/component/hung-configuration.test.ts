import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { flagsLayer } from '../../src/node/options/add-configuration-flags.ts';
import { BrokenConfiguration, newPathGuard, readConfiguration } from '../../src/node/options/read-configuration.ts';
import { hungMount } from '../support/hung-mount.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Reads the configuration. Resolves with the error, and with how long that took. */
async function failure(reading: Promise<unknown>): Promise<object> {
  const begunAt = Date.now();
  const error = await reading.catch((cause: unknown) => cause);
  const { message } = error as Error;
  return { isBroken: error instanceof BrokenConfiguration, message, isAtOnce: Date.now() - begunAt < 2000 };
}

test.each([
  ['--config', 'config', 'kubelet.yaml', 'the configuration PATH cannot be read'],
  ['--config-dir', 'configDir', '.', 'the folder PATH of --config-dir cannot be read'],
])('%s on a file system that hangs is an error, and is not asked again', async (_flag, option, name, words) => {
  const folder = join(await temporaryFolder(), 'mounted');
  await mkdir(folder);
  const mount = await hungMount(folder);
  onTestFinished(() => mount.release());
  const paths = newPathGuard();
  const path = join(folder, name);
  const read = (): Promise<object> => failure(readConfiguration({ [option]: path }, flagsLayer({}), paths));
  const message = `${words.replace('PATH', path)}: its file system does not answer`;
  expect([await read(), await read()]).toEqual([
    { isBroken: true, message, isAtOnce: false },
    { isBroken: true, message, isAtOnce: true },
  ]);
});

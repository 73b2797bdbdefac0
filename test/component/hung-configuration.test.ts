import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { flagsLayer } from '../../src/node/options/add-configuration-flags.ts';
import { BrokenConfiguration, readConfiguration } from '../../src/node/options/read-configuration.ts';
import { PathGuard } from '../../src/engine/host/path-guard.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { hungMount } from '../support/hung-mount.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Reads the configuration. Resolves with the error. */
async function failure(reading: Promise<unknown>): Promise<object> {
  const error = await reading.catch((cause: unknown) => cause);
  const { message } = error as Error;
  return { isBroken: error instanceof BrokenConfiguration, message };
}

test.each([
  ['--config', 'config', 'kubelet.yaml', 'the configuration PATH cannot be read'],
  ['--config-dir', 'configDir', '.', 'the folder PATH of --config-dir cannot be read'],
])('%s on a file system that hangs is an error, and is not asked again', async (_flag, option, name, words) => {
  const folder = join(await temporaryFolder(), 'mounted');
  await mkdir(folder);
  const mount = await hungMount(folder);
  onTestFinished(() => mount.release());
  const clock = new FakeClock();
  const paths = new PathGuard({ maxHung: 1, clock });
  const path = join(folder, name);
  const read = (): Promise<object> => failure(readConfiguration({ [option]: path }, flagsLayer({}), paths));
  const message = `${words.replace('PATH', path)}: its file system does not answer`;
  const first = read();
  while (clock.pending === 0) await new Promise(setImmediate);
  await clock.advance(5000);
  // The second answer needs no time.
  expect([await first, await read()]).toEqual([
    { isBroken: true, message },
    { isBroken: true, message },
  ]);
});

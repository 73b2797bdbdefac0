import { execFileSync } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { execCredentialPlugin } from '../../src/engine/images/exec-credential-plugin.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let binDir: string;
let clock: FakeClock;

beforeEach(async () => {
  binDir = await temporaryFolder();
  clock = new FakeClock();
});

/** Runs this shell script as a provider. */
async function run(
  script: string,
  more: { args?: string[]; env?: { name: string; value: string }[] } = {},
): Promise<string> {
  const path = join(binDir, 'login');
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  const provider = {
    name: 'login',
    matchImages: [],
    defaultCacheDuration: 0,
    apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
    args: [],
    env: [],
    ...more,
  };
  return execCredentialPlugin({ binDir, clock }, provider, '{"image":"app"}');
}

test('a provider gets its input, its arguments and both our variables and its own', async () => {
  const answer = await run('echo "$(cat) $1 $REGION $PATH"', { args: ['get'], env: [{ name: 'REGION', value: 'eu' }] });
  expect(answer).toBe(`{"image":"app"} get eu ${process.env['PATH'] ?? ''}\n`);
});

test('a provider may answer without reading what it is asked', async () => {
  expect(await run('exec 0<&-; echo yes')).toBe('yes\n');
});

test.each([
  ['exit 3', 'it exited with code 3'],
  ['kill -TERM $$', 'it was stopped by SIGTERM'],
  ['cat /dev/zero', 'its answer is longer than 1048576 bytes'],
])('a provider that does `%s` fails', async (script, message) => {
  await expect(run(script)).rejects.toThrow(new Error(message));
});

test('a provider that is not there fails', async () => {
  const provider = { name: 'no', matchImages: [], defaultCacheDuration: 0, apiVersion: '', args: [], env: [] };
  await expect(execCredentialPlugin({ binDir, clock }, provider, '')).rejects.toThrow(/ENOENT/);
});

test('what it says on standard error is in no error', async () => {
  await expect(run('echo secret >&2; exit 1')).rejects.toThrow(new Error('it exited with code 1'));
});

test('a provider that takes a minute is killed, with what it started', async () => {
  const started = join(binDir, 'started');
  execFileSync('mkfifo', [started]);
  // The process that it started keeps its standard output open.
  const running = run(`sleep 1000 & echo > ${started}; wait`);
  const failed = expect(running).rejects.toThrow(new Error('it took longer than 60 seconds'));
  await readFile(started);
  await clock.advance(60_000);
  await failed;
});

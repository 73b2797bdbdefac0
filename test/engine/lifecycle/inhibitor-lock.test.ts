import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { takeInhibitorLock } from '../../../src/engine/lifecycle/inhibitor-lock.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const never = new AbortController().signal;

let folder: string;
let program: string;

/** Runs its command as systemd-inhibit does, and notes its own process id and how the command ended. */
const inhibit = (): string => `#!/bin/sh
echo $$ > ${folder}/pid
while [ "\${1#--}" != "$1" ]; do shift; done
"$@"
echo $? > ${folder}/ended
`;

beforeEach(async () => {
  folder = await temporaryFolder();
  program = join(folder, 'inhibit');
  await writeFile(program, inhibit());
  await chmod(program, 0o755);
});

const read = async (name: string): Promise<number> => Number(await readFile(join(folder, name), 'utf8'));

test('a lock is let go by us alone, not by a signal to all our processes', async () => {
  const lock = await takeInhibitorLock(program, never);
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.kill(-(await read('pid')), signal);
  lock.release();
  await lock.released;
  expect(await read('ended')).toBe(0);
});

test('an abort lets go of a lock', async () => {
  const stopping = new AbortController();
  const lock = await takeInhibitorLock(program, stopping.signal);
  stopping.abort();
  await lock.released;
});

test('a lock that is not granted is reported with its reason', async () => {
  await writeFile(program, '#!/bin/sh\necho no such luck >&2\nexit 1\n');
  await expect(takeInhibitorLock(program, never)).rejects.toThrow(`${program} ended: no such luck`);
  await expect(takeInhibitorLock(join(folder, 'absent'), never)).rejects.toThrow('not found');
});

import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { awaitHealth } from '../../../src/node/upgrade/await-health.ts';
import { clearUpgradeState, markText, programFiles } from '../../../src/node/upgrade/program-files.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

async function pendingProgram(): Promise<string> {
  const program = join(await temporaryFolder(), 'kubelet-ts');
  await writeFile(programFiles(program).pending(3), markText('0.1.0', '0.2.0'));
  return program;
}

test('the mark of a healthy program is removed', async () => {
  const program = await pendingProgram();
  const outcome = awaitHealth(program, AbortSignal.timeout(60_000));
  await clearUpgradeState(program);
  expect(await outcome).toBe('healthy');
});

test('the guard counts starts, and then restores the previous program', async () => {
  const program = await pendingProgram();
  const { pending, restored } = programFiles(program);
  const outcome = awaitHealth(program, AbortSignal.timeout(60_000));
  await rename(pending(3), pending(2));
  await rename(pending(2), restored);
  expect(await outcome).toBe('restored');
});

test('the wait ends', async () => {
  const program = await pendingProgram();
  const stopping = new AbortController();
  const outcome = awaitHealth(program, stopping.signal);
  stopping.abort();
  expect(await outcome).toBe('pending');
});

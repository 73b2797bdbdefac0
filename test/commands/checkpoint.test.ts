import { stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { register as registerCheckpoint } from '../../src/commands/checkpoint.ts';
import type { RuntimeService } from '../../src/cri/runtime-service.ts';
import { RpcError, UserError } from '../../src/errors.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { makeContainer, makeDeps, makeRuntime, makeSandbox } from './runtime-listings.ts';

const unimplemented = 12;
const unknown = 2;

async function checkpoint(
  checkpointContainer: RuntimeService['checkpointContainer'],
  ...args: string[]
): Promise<{ stdout: string; rootDir: string }> {
  const rootDir = await temporaryFolder();
  const containers = [makeContainer({ id: 'app-0', name: 'app' })];
  const runtime = { ...makeRuntime([makeSandbox({ name: 'web-edge1' })], containers), checkpointContainer };
  const deps = makeDeps(runtime);
  const program = new Command();
  registerCheckpoint(program, deps);
  await program.parseAsync(['checkpoint', '--root-dir', rootDir, ...args], { from: 'user' });
  return { stdout: deps.printed.stdout, rootDir };
}

test("a checkpoint is written under the kubelet's name, for root alone, and its path is printed", async () => {
  const requests: unknown[] = [];
  const { stdout, rootDir } = await checkpoint(
    async (request = {}) => {
      requests.push(request);
      await writeFile(request.location ?? '', 'archive', { mode: 0o644 });
      return {};
    },
    ...['web-edge1', '-c', 'app', '--timeout', '90s'],
  );
  const path = stdout.trimEnd();
  expect(dirname(path)).toBe(join(rootDir, 'checkpoints'));
  expect(path).toMatch(/\/checkpoint-web-edge1_default-app-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.tar$/);
  expect(requests).toEqual([{ containerId: 'app-0', location: path, timeout: 90n }]);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await stat(dirname(path))).mode & 0o777).toBe(0o700);
});

test.each([
  [unimplemented, 'the container runtime does not support checkpoints'],
  [unknown, 'the container runtime wrote no checkpoint: no criu'],
])('a runtime that answers with status %i makes a clear error', async (code, message) => {
  const refusing = (): Promise<never> => Promise.reject(new RpcError('CheckpointContainer', code, 'no criu'));
  const error: unknown = await checkpoint(refusing, 'web-edge1').catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(UserError);
  expect((error as UserError).message).toBe(message);
  expect((error as UserError).hint).toContain('CRIU');
});

import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lastRuntime, recordRuntime } from '../../src/node/last-runtime.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const endpoint = 'unix:///run/other/containerd.sock';
const noteOf = (rootDir: string): string => join(rootDir, 'state/runtime-endpoint');

test('the runtime of an agent is known after its end', async () => {
  const rootDir = await temporaryFolder();
  expect(await lastRuntime(rootDir)).toBeUndefined();
  await recordRuntime(rootDir, { endpoint, managed: false }, silentLogger);
  expect(await lastRuntime(rootDir)).toBe(endpoint);
  expect(await readFile(noteOf(rootDir), 'utf8')).toBe(`${endpoint}\n`);
});

test('a managed containerd has no note, because it moves with the root-dir', async () => {
  const rootDir = await temporaryFolder();
  await recordRuntime(rootDir, { endpoint, managed: false }, silentLogger);
  await recordRuntime(
    rootDir,
    { endpoint: `unix://${rootDir}/containerd/containerd.sock`, managed: true },
    silentLogger,
  );
  expect(await lastRuntime(rootDir)).toBeUndefined();
});

test.each([
  ['another text', 'containerd'],
  ['more than a path', endpoint.padEnd(5000, 'x')],
])('a note with %s names no runtime', async (_name, text) => {
  const rootDir = await temporaryFolder();
  await mkdir(join(rootDir, 'state'));
  await writeFile(noteOf(rootDir), text);
  expect(await lastRuntime(rootDir)).toBeUndefined();
});

test('a note that the file system does not hand out is an error, because pods may run in its runtime', async () => {
  const rootDir = await temporaryFolder();
  await symlink('state', join(rootDir, 'state'));
  await expect(lastRuntime(rootDir)).rejects.toMatchObject({ code: 'ELOOP' });
});

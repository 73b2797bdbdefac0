import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readManagedHandlers } from '../../src/containerd/managed-handlers.ts';
import { managedPaths } from '../../src/containerd/managed-paths.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('the handlers are runc and those of drop-ins, for containerd 1 and 2', async () => {
  const rootDir = await temporaryFolder();
  expect(await readManagedHandlers(rootDir)).toEqual(['runc']);
  const { dropIns } = managedPaths(rootDir);
  await mkdir(dropIns, { recursive: true });
  const write = (name: string, text: string): Promise<void> => writeFile(join(dropIns, name), text);
  await write('1.toml', 'plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.runtime_type = "a"\n');
  await write('2.toml', 'plugins."io.containerd.cri.v1.runtime".containerd.runtimes.wasm.runtime_type = "b"\n');
  await write('3.toml', 'broken');
  await write('4.toml', 'debug.level = "info"\n');
  await write('5.toml~', 'plugins."io.containerd.cri.v1.runtime".containerd.runtimes.old.runtime_type = "c"\n');
  expect(await readManagedHandlers(rootDir)).toEqual(['runc', 'nvidia', 'wasm']);
});

test('a file in the place of their folder adds none', async () => {
  const rootDir = await temporaryFolder();
  const { base, dropIns } = managedPaths(rootDir);
  await mkdir(base);
  await writeFile(dropIns, '');
  expect(await readManagedHandlers(rootDir)).toEqual(['runc']);
});

import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { readEnvFiles } from '../../../src/engine/kuberuntime/env-files.ts';
import type { MountedVolume } from '../../../src/engine/volumes/volume-mounter.ts';
import { makeContainer } from '../../builders/pods.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let root: string;
let volumes: ReadonlyMap<string, MountedVolume>;

beforeEach(async () => {
  root = await temporaryFolder();
  await mkdir(join(root, 'volume'));
  volumes = new Map([['config', { hostPath: join(root, 'volume'), readOnly: false, managed: true }]]);
});

const containerWith = (path: string) =>
  makeContainer({ env: [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'config', path, key: 'A' } } }] });

test('a file is read inside its volume, also from a path that begins with a slash', async () => {
  await writeFile(join(root, 'volume', 'env'), "A='one'\n");
  const files = await readEnvFiles(containerWith('/env'), volumes);
  expect([...files]).toEqual([['config\0/env', "A='one'\n"]]);
});

test.each([
  ['is missing', 'absent', 'env "A": cannot read /absent of its volume: '],
  ['is a folder', '.', 'env "A": cannot read / of its volume: '],
  ['lies behind a link that leaves the volume', 'out', 'env "A": cannot read /out of its volume: '],
])('a file that %s is refused', async (_what, path, message) => {
  await writeFile(join(root, 'secret'), "A='x'\n");
  await symlink('../secret', join(root, 'volume', 'out'));
  await expect(readEnvFiles(containerWith(path), volumes)).rejects.toThrow(message);
});

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findContainerd } from '../../src/containerd/find-containerd.ts';
import { searchFolders } from '../../src/process/find-program.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** A folder of programs; `containerd` says this version. */
async function programs(names: readonly string[], version = '1.6.20'): Promise<string> {
  const folder = await temporaryFolder();
  for (const name of names) {
    await writeFile(join(folder, name), `#!/bin/sh\necho containerd example.org/containerd ${version} abc\n`, {
      mode: 0o755,
    });
  }
  return folder;
}

const all = ['containerd', 'containerd-shim-runc-v2', 'ctr', 'runc'];

test('finds containerd and what belongs to it, first on PATH', async () => {
  const folder = await programs(all);
  expect(await findContainerd({ path: `relative:${folder}:/usr/bin` })).toEqual({
    containerd: join(folder, 'containerd'),
    version: { major: 1, minor: 6, patch: 20, text: '1.6.20' },
    ctr: join(folder, 'ctr'),
    ociRuntime: join(folder, 'runc'),
  });
});

test('refuses a containerd without CRI v1', async () => {
  const folder = await programs(all, '1.5.9');
  await expect(findContainerd({ path: folder })).rejects.toMatchObject({
    name: 'UserError',
    message: `${folder}/containerd is version 1.5.9, which has no CRI v1`,
  });
});

test('refuses a containerd that does not run', async () => {
  const folder = await programs(all);
  const find = async (script: string): Promise<unknown> => {
    await writeFile(join(folder, 'containerd'), `#!/bin/sh\n${script}\n`);
    return findContainerd({ path: folder });
  };
  await expect(find('exit 3')).rejects.toMatchObject({
    message: `${folder}/containerd does not run: Command failed with exit code 3: ${folder}/containerd --version`,
  });
  await expect(find('echo no thread >&2; echo goroutine 0 >&2; exit 2')).rejects.toMatchObject({
    message: `${folder}/containerd does not run: no thread`,
  });
});

test('reports how to install what is missing', async () => {
  const osReleaseFile = join(await temporaryFolder(), 'os-release');
  await writeFile(osReleaseFile, 'ID=alpine\n');
  const find = (folders: readonly string[]) => findContainerd({ osReleaseFile, cgroup: 'hybrid', folders });
  const hint = 'Install it with: apk add containerd containerd-ctr runc cni-plugins';
  const missing = { name: 'UserError', hint };

  await expect(find([])).rejects.toMatchObject({ ...missing, message: 'containerd is not installed on this machine' });
  const noShim = await programs(['containerd', 'runc']);
  await expect(find([noShim])).rejects.toMatchObject({
    ...missing,
    message: `${noShim}/containerd has no containerd-shim-runc-v2 next to it or on PATH`,
  });
  await expect(find([await programs(['containerd', 'containerd-shim-runc-v2', 'crun'])])).rejects.toMatchObject({
    ...missing,
    message: 'No runc is installed, which containerd needs to start containers',
  });
});

test('takes crun where there is no runc and the machine has cgroup v2', async () => {
  const folder = await programs(['containerd', 'containerd-shim-runc-v2', 'crun']);
  expect(await findContainerd({ folders: [folder], cgroup: 'v2' })).toMatchObject({
    ctr: undefined,
    ociRuntime: join(folder, 'crun'),
  });
});

test('searches the usual folders after those of PATH', () => {
  expect(searchFolders('/mine:/usr/bin').slice(0, 3)).toEqual(['/mine', '/usr/bin', '/usr/local/sbin']);
});

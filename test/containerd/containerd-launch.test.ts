import { mkdir, rm, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { ContainerdLaunch } from '../../src/containerd/containerd-launch.ts';
import { managedPaths } from '../../src/containerd/managed-paths.ts';
import { identify } from '../../src/process/process-identity.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('a running containerd whose configuration was removed gets it again', async () => {
  const paths = managedPaths(await temporaryFolder());
  await mkdir(paths.base);
  const self = (await identify(process.pid)) ?? { pid: 0, startTicks: '' };
  const launch = new ContainerdLaunch({
    paths,
    clock: new FakeClock(),
    network: { configure: () => Promise.reject(new Error('not wanted')) },
    find: () =>
      Promise.resolve({
        containerd: process.execPath,
        version: { major: 1, minor: 7, patch: 0, text: '1.7.0' },
        ctr: undefined,
        ociRuntime: 'runc',
      }),
    systemdCgroup: false,
    restartsForChanges: true,
  });
  await writeFile(paths.configFile, '');
  expect(await launch.changesOf(self)).toEqual({ changes: [], warnings: [] });
  await rm(paths.configFile);
  expect(await launch.changesOf(self)).toEqual({ changes: ['the configuration, which cannot be read'], warnings: [] });
});

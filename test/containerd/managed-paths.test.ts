import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { assertSocketsFit, hasManagedContainerd, managedPaths } from '../../src/containerd/managed-paths.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('everything is below the root-dir', () => {
  expect(managedPaths('/var/lib/kubelet-ts/')).toEqual({
    base: '/var/lib/kubelet-ts/containerd',
    dropIns: '/var/lib/kubelet-ts/containerd/conf.d',
    configFile: '/var/lib/kubelet-ts/containerd/config.toml',
    root: '/var/lib/kubelet-ts/containerd/root',
    state: '/var/lib/kubelet-ts/containerd/state',
    socket: '/var/lib/kubelet-ts/containerd/containerd.sock',
    endpoint: 'unix:///var/lib/kubelet-ts/containerd/containerd.sock',
    logFile: '/var/lib/kubelet-ts/containerd/containerd.log',
    pidFile: '/var/lib/kubelet-ts/containerd/containerd.pid',
    launchLock: '/var/lib/kubelet-ts/containerd/launch.lock',
    repairLock: '/var/lib/kubelet-ts/containerd/repair.lock',
    registryHosts: '/var/lib/kubelet-ts/containerd/certs.d',
    cniConfDir: '/var/lib/kubelet-ts/cni/net.d',
    imagesFolder: '/var/lib/kubelet-ts/images',
    importedImagesFile: '/var/lib/kubelet-ts/state/imported-images.json',
  });
});

test('a root-dir is refused when the longest socket below it has more than 107 bytes', () => {
  const rootDirOf = (bytes: number): string => '/'.padEnd(bytes - '/containerd/containerd.sock.ttrpc'.length, 'd');
  expect(() => {
    assertSocketsFit(managedPaths(rootDirOf(107)));
  }).not.toThrow();
  expect(() => {
    assertSocketsFit(managedPaths(rootDirOf(108)));
  }).toThrow('is too long: 108 bytes, and a socket may have 107');
});

test('a managed containerd is recorded once its configuration was written', async () => {
  const rootDir = await temporaryFolder();
  expect(await hasManagedContainerd(rootDir)).toBe(false);
  await mkdir(join(rootDir, 'containerd'));
  await writeFile(managedPaths(rootDir).configFile, '');
  expect(await hasManagedContainerd(rootDir)).toBe(true);
});

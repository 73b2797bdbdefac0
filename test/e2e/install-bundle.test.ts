import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Agent } from './agent.ts';
import { BareDebian } from './bare-debian.ts';
import { buildExecutable, executable } from './built-executable.ts';
import { busybox, makePod, serve, shell } from './manifests.ts';

let connected: Agent;
let debian: BareDebian;
let box: string;

beforeAll(async () => {
  await buildExecutable();
  connected = await Agent.create({ program: executable });
  debian = await BareDebian.create();
  box = join(debian.shared, 'box');
  // The first one downloads a Debian beside other tests.
}, 900_000);
afterAll(async () => {
  await connected.cleanUp();
  await debian.remove();
});

test('a bundle with programs sets up a machine that has no runtime and no network', async () => {
  const manifest = join(connected.rootDir, 'bundled.json');
  await writeFile(manifest, JSON.stringify(makePod('web', { containers: [shell('app', serve, { image: busybox })] })));
  await connected.start();
  const bundled = await connected.cli(['images', 'bundle', '--with-programs', '-o', join(box, 'app.tar'), manifest]);
  expect(bundled).toEqual({
    code: 0,
    stdout: expect.stringMatching(
      /^Bundled image: localhost\/busybox:1\nWrote .*\nBundled programs: kubelet-ts, containerd, ctr, containerd-shim-runc-v2, runc, cni\/.*\n$/,
    ) as string,
    stderr: '',
  });
  await connected.stop();
  // An installed machine has these, and a bundle does not bring them. The packages are in its cache.
  await debian.run('apt-get', 'install', '--yes', '--no-install-recommends', 'iptables', 'iproute2');
  await debian.run('sh', '-c', 'echo 127.0.0.1 localhost > /etc/hosts');
  await expect(debian.run('containerd', '--version')).rejects.toThrow('failed to execute containerd');

  const before = await debian.paths();
  const copy = join(debian.shared, 'cut');
  await debian.run('cp', '-r', box, copy);
  await truncate(join(copy, 'containerd'), 1_000_000);
  const cut = debian.run(join(copy, 'kubelet-ts'), 'install-bundle');
  await expect(cut).rejects.toThrow(
    /error: the bundle is not complete: the SHA-256 of containerd is .*\nhint: Copy it again/,
  );
  const left = (await debian.paths()).filter((path) => !before.includes(path));
  // Empty folders.
  expect(
    left.filter(
      (path) => !['/opt/cni', '/opt/cni/bin', '/var/lib/kubelet-ts', '/var/lib/kubelet-ts/images'].includes(path),
    ),
  ).toEqual([]);

  const installed = await debian.run(join(box, 'kubelet-ts'), 'install-bundle');
  expect(installed.split('\n')).toEqual([
    'Installed in /var/lib/kubelet-ts/images: app.tar',
    'Installed in /usr/local/bin: kubelet-ts, containerd, ctr, containerd-shim-runc-v2, runc',
    expect.stringMatching(/^Installed in \/opt\/cni\/bin: .*bridge/) as string,
    'Run your pods: kubelet-ts run --offline MANIFESTS, or at boot: kubelet-ts install-service -- --offline MANIFESTS',
  ]);
  await debian.runsPods('/usr/local/bin/kubelet-ts');
  expect(await debian.run(join(box, 'kubelet-ts'), 'install-bundle')).toContain(
    'Kept /usr/local/bin/containerd of this machine',
  );
});

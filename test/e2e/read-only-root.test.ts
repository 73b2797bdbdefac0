import { mkdtemp, rmdir } from 'node:fs/promises';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Agent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';
import { MountNamespace } from './mount-namespace.ts';
import { NetworkNamespace } from './network-namespace.ts';

let folder: string;
let network: NetworkNamespace;
let mounts: MountNamespace;
let agent: Agent;

/** A machine whose root is read-only. The root-dir is on its own file system, from which no program may be started. */
beforeEach(async () => {
  folder = await mkdtemp('/var/tmp/ro-');
  await execa('mount', ['-t', 'tmpfs', '-o', 'noexec', 'box', folder]);
  network = await NetworkNamespace.create();
  mounts = await MountNamespace.create();
  // containerd and runc write there, and have no setting for it.
  await mounts.run('sh', '-ec', 'mkdir -p /var/lib/cni && mount -t tmpfs cni /var/lib/cni && mount -t tmpfs tmp /tmp');
  await mounts.run('mount', '-o', 'remount,bind,ro', '/');
  agent = await Agent.create({ folder, networkNamespace: network.path, mountNamespace: mounts.path });
});
afterEach(async () => {
  await agent.cleanUp();
  await mounts.remove();
  await network.remove();
  await execa('umount', ['--lazy', folder]);
  await rmdir(folder);
});

test('pods run from a root-dir on its own file system; their volumes have its noexec', async () => {
  await expect(mounts.run('touch', '/var/lib/x')).rejects.toThrow('Read-only file system');
  await agent.start();
  const volumeMounts = [{ name: 'data', mountPath: '/data' }];
  const web = makePod('web', {
    hostNetwork: false,
    containers: [{ ...shell('app', serve), volumeMounts }],
    volumes: [{ name: 'data', emptyDir: {} }],
  });
  await agent.write('web.json', web);
  await agent.untilReady('web');
  const started = await agent.cli(['exec', 'web', '--', 'sh', '-c', 'cp /bin/busybox /data/sh && exec /data/sh']);
  expect(started).toMatchObject({ code: 126, stderr: expect.stringContaining('Permission denied') as string });
  const { stdout } = await agent.cli(['doctor']);
  expect(stdout).toContain(`root-dir ${agent.rootDir} is on a disk that is mounted noexec: pods cannot execute`);
  // The machine may have cgroup v1.
  const warnings = agent.logs.filter(({ level, reason }) => level >= 40 && reason !== 'CgroupV1');
  expect(warnings.map(({ msg }) => msg)).toEqual(['Linking the container log failed']);
});

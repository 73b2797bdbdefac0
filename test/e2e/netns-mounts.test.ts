import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { managedPaths } from '../../src/containerd/managed-paths.ts';
import { waitForPath } from '../../src/containerd/wait-for-path.ts';
import { Agent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { deadlineMs } from './deadline.ts';
import { makePod, serve, shell } from './manifests.ts';
import { MountNamespace } from './mount-namespace.ts';
import { NetworkNamespace } from './network-namespace.ts';

describe.each(containerdReleases().slice(-1))('network namespaces of pods on containerd $release', (containerd) => {
  let network: NetworkNamespace;
  let mounts: MountNamespace;
  let agent: Agent;

  beforeEach(async () => {
    network = await NetworkNamespace.create();
    mounts = await MountNamespace.create();
    agent = await Agent.create({ containerd, networkNamespace: network.path, mountNamespace: mounts.path });
    await agent.start();
  });
  afterEach(async () => {
    await agent.cleanUp();
    await mounts.remove();
    await network.remove();
  });

  const web = makePod('web', { hostNetwork: false, containers: [shell('app', serve)] });
  const failedSyncs = (): unknown[] =>
    agent.logs.filter(({ msg, reason }) => reason === 'FailedKillPod' || msg.startsWith('Error syncing pod'));

  test('are removed also after the first "ip netns add" of the machine', async () => {
    await agent.write('web.json', web);
    await agent.untilReady('web');
    await mounts.run('ip', 'netns', 'add', 'other');
    await agent.removeAll();
    expect(failedSyncs()).toEqual([]);
    await mounts.run('ip', 'netns', 'delete', 'other');
  });

  test('that an earlier release had elsewhere stay in use after an upgrade, and go with their pods', async () => {
    await agent.down('--all');
    const { configFile, socket } = managedPaths(agent.rootDir);
    const written = await readFile(configFile, 'utf8');
    await writeFile(configFile, written.replace('netns_mounts_under_state_dir = true', ''));
    const earlier = spawn(
      'nsenter',
      [`--mount=${mounts.path}`, `--net=${network.path}`, 'containerd', '--config', configFile],
      { env: agent.environment, stdio: 'ignore', detached: true },
    );
    await waitForPath(socket, AbortSignal.timeout(deadlineMs));
    await agent.start();
    await agent.write('web.json', web);
    await agent.untilReady('web');
    const before = await agent.runningContainer('web');
    expect(await mounts.run('ls', '/run/netns')).toMatch(/^cni-/);

    // Its end is that of the earlier configuration.
    process.kill(earlier.pid ?? 0, 'SIGKILL');
    await agent.waitForLog(({ msg }) => msg === 'containerd answers again');
    expect(await agent.runningContainer('web')).toEqual(before);
    await agent.removeAll();
    expect([failedSyncs(), await mounts.run('ls', '/run/netns')]).toEqual([[], '']);
  });
});

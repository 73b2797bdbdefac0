import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { Agent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { makePod, serve, shell } from './manifests.ts';
import { NetworkNamespace } from './network-namespace.ts';

test.for(containerdReleases().slice(-1))(
  'containerd $release gives up a sandbox whose network hangs when the pod goes',
  async (containerd, { onTestFinished }) => {
    const network = await NetworkNamespace.create();
    onTestFinished(() => network.remove());
    const agent = await Agent.create({ containerd, networkNamespace: network.path });
    onTestFinished(() => agent.cleanUp());
    // The plugin that hands out addresses reads this, as long as the pipe has a writer.
    const resolvConf = join(agent.rootDir, 'resolv.conf');
    await execa('mkfifo', [resolvConf]);
    const ipam = { type: 'host-local', subnet: '10.99.0.0/24', dataDir: join(agent.rootDir, 'addresses'), resolvConf };
    const configuration = { cniVersion: '0.4.0', name: 'held', plugins: [{ type: 'ptp', ipam }] };
    const folder = join(agent.rootDir, 'cni/net.d');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, '00-held.conflist'), JSON.stringify(configuration));
    await agent.start();
    await agent.write('app.yaml', makePod('app', { hostNetwork: false, containers: [shell('app', serve)] }));
    // Resolves when the plugin reads.
    const held = await open(resolvConf, 'w');
    const { sandboxDelay } = await agent.untilPod('app', (pod) => pod.sandboxDelay !== undefined);
    expect(sandboxDelay).toEqual({ seconds: 20, plugin: 'host-local' });
    await agent.removeAll();
    expect(agent.logs.filter(({ reason }) => reason === 'FailedCreatePodSandBox')).toEqual([]);
    await held.close();
    await rm(resolvConf);
    await writeFile(resolvConf, '');
    await agent.write('app.yaml', makePod('app', { hostNetwork: false, containers: [shell('app', serve)] }));
    await agent.untilReady('app');
    await agent.removeAll();
  },
);

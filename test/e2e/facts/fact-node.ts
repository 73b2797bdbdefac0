import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Agent } from '../agent.ts';
import type { ContainerdRelease } from '../containerd-releases.ts';
import { NetworkNamespace } from '../network-namespace.ts';
import { configObjects } from './config-objects.ts';
import { writeFactImages } from './fact-images.ts';
import { type FactMachine, readFactMachine } from './fact-machine.ts';
import { makeHostFolder } from './host-folder.ts';
import { seccompProfile, seccompProfileName } from './privileges.ts';

/** The address of the node, which nothing else uses. */
export const nodeIP = '192.0.2.10';

/** A node with everything that the facts check. */
export interface FactNode {
  readonly agent: Agent;
  readonly machine: FactMachine;
  readonly cleanUp: () => Promise<void>;
}

export async function startFactNode(containerd: ContainerdRelease): Promise<FactNode> {
  const namespace = await NetworkNamespace.create();
  const folder = await makeHostFolder();
  const resolvConf = join(folder.path, 'resolv.conf');
  await writeFile(resolvConf, 'nameserver 192.0.2.53\nsearch corp.example\noptions timeout:3\n');
  const flags = [
    '--seccomp-default',
    ...['--node-ip', nodeIP, '--cluster-dns', '192.0.2.54', '--cluster-domain', 'cluster.local'],
    ...['--resolv-conf', resolvConf, '--allowed-unsafe-sysctls', 'net.core.*', '--pod-max-pids', '100'],
    ...['--feature-gates', 'ImageVolume=true,UserNamespacesSupport=true'],
  ];
  const agent = await Agent.create({ containerd, networkNamespace: namespace.path, flags, manifests: configObjects });
  const cleanUp = async (): Promise<void> => {
    await agent.cleanUp();
    await namespace.remove();
    await folder.remove();
  };
  await writeFactImages(join(agent.rootDir, 'images'));
  const profile = join(agent.rootDir, 'seccomp', seccompProfileName);
  await mkdir(dirname(profile), { recursive: true });
  await writeFile(profile, JSON.stringify(seccompProfile));
  await agent.start();
  return { agent, machine: await readFactMachine(agent, folder.path), cleanUp };
}

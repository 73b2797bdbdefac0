import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { managedPaths } from '../../../src/containerd/managed-paths.ts';
import { containerLogLinksDir } from '../../../src/engine/container/log-paths.ts';
import type { Agent } from '../agent.ts';
import { cgroupFolders, findLeftovers } from '../leftovers.ts';
import type { NetworkNamespace } from '../network-namespace.ts';

/** Everything that exists of a running agent and its pods on this machine. Without pods, it is always the same. */
export type NodeRemains = Record<string, string[]>;

interface Node {
  agent: Agent;
  namespace: NetworkNamespace;
  /** Every sandbox seen in the rounds. Other agents on this machine have sandboxes, too. */
  sandboxIDs: ReadonlySet<string>;
  /** Their network namespaces. */
  networkNamespaces: ReadonlySet<string>;
}

export async function nodeRemains({ agent, namespace, sandboxIDs, networkNamespaces }: Node): Promise<NodeRemains> {
  const { rootDir, podLogsDir, cgroupRoot } = agent;
  const ctr = async (...words: string[]): Promise<string[]> => {
    const address = ['--address', managedPaths(rootDir).socket, '--namespace', 'k8s.io'];
    const { stdout } = await execa('ctr', [...address, ...words], { env: agent.environment });
    return stdout.split('\n').filter((line) => line !== '');
  };
  // containerd removes snapshots and contents when it has time. Deleting a lease makes it do so now.
  await ctr('leases', 'create', '--id', 'rounds');
  await ctr('leases', 'delete', '--sync', 'rounds');
  const isOurs = (name: string): boolean => [...sandboxIDs].some((id) => name.includes(id));
  const leftovers = await findLeftovers(agent);
  const links = (await namespace.run('ip', '-o', 'link')).split('\n').map((line) => line.split(': ')[1] ?? '');
  return {
    mounts: leftovers.mounts.sort(),
    shims: leftovers.processes.filter((line) => line.includes('containerd-shim')),
    // The cgroups of the QoS classes are created with the first pod of the class, and stay.
    cgroups: (await cgroupFolders(cgroupRoot)).filter((path) => !/\/kubepods(\/besteffort|\/burstable)?$/.test(path)),
    podFolders: leftovers.podFolders,
    logFolders: await list(podLogsDir),
    logLinks: leftovers.logLinks,
    linksWithoutTarget: (await list(containerLogLinksDir)).filter(isOurs),
    interfaces: links.filter((name) => name.startsWith('veth')),
    rules: (await namespace.run('iptables-save')).split('\n').filter((line) => /CNI-(DN-)?[0-9a-f]{10}/.test(line)),
    networkNamespaces: (await list('/run/netns')).filter((name) => networkNamespaces.has(name)),
    networkResults: (await list('/var/lib/cni/results')).filter(isOurs),
    addresses: await leasesOf('/run/kubelet-ts/cni', isOurs),
    containers: await ctr('containers', 'list', '--quiet'),
    tasks: await ctr('tasks', 'list', '--quiet'),
    snapshots: (await ctr('snapshots', 'list')).map((line) => line.replace(/\s+/g, ' ').trim()).sort(),
    contents: (await ctr('content', 'list', '--quiet')).sort(),
    leases: await ctr('leases', 'list', '--quiet'),
    files: await filesOf(rootDir),
  };
}

/** Returns the addresses that CNI has assigned. Each has a file that names its sandbox. */
async function leasesOf(folder: string, isOurs: (text: string) => boolean): Promise<string[]> {
  const found: string[] = [];
  for (const network of await list(folder)) {
    for (const name of await list(join(folder, network))) {
      if (isOurs(await readFile(join(folder, network, name), 'utf8').catch(() => ''))) found.push(name);
    }
  }
  return found;
}

/**
 * Returns every path in a node's folder except the content of its image layers and the histories of pods, which are
 * meant to stay. A lock is a link whose number increases.
 */
async function filesOf(rootDir: string): Promise<string[]> {
  const entries = await readdir(rootDir, { recursive: true, withFileTypes: true });
  const paths = entries.map((entry) => join(entry.parentPath, entry.name).slice(rootDir.length + 1));
  return paths
    .filter((path) => !/\/snapshots\/\d+\/(fs|work)\/|^state\/history\//.test(path))
    .map((path) => path.replace(/(\.lock)\/\d+$/, '$1/…'))
    .sort();
}

async function list(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Agent } from '../e2e/agent.ts';
import type { NetworkNamespace } from '../e2e/network-namespace.ts';

/** Sandboxes and network namespaces that were seen in a runtime: others on this machine have some, too. */
export class SeenSandboxes {
  readonly ids = new Set<string>();
  readonly networkNamespaces = new Set<string>();

  /** Looks at what there is now, as CNI wrote it down. */
  async look(agent: Agent): Promise<void> {
    const connection = await agent.connect();
    const { items } = await connection.runtime.listPodSandbox({}).finally(() => {
      connection.close();
    });
    for (const { id } of items) {
      this.ids.add(id);
      const file = `/var/lib/cni/results/kubelet-ts-${id}-eth0`;
      const text = existsSync(file) ? await readFile(file, 'utf8').catch(() => '') : '';
      for (const [path] of text.matchAll(/\/netns\/cni-[0-9a-f-]+/g)) this.networkNamespaces.add(basename(path));
    }
  }
}

/** What is left of their networks after they were removed. */
export async function networkRemains(namespace: NetworkNamespace, seen: SeenSandboxes): Promise<string[]> {
  const links = (await namespace.run('ip', '-o', 'link')).split('\n').map((line) => line.split(': ')[1] ?? '');
  const rules = (await namespace.run('iptables-save')).split('\n');
  return [
    ...links.filter((name) => name.startsWith('veth')),
    ...rules.filter((line) => /CNI-(DN-)?[0-9a-f]{10}/.test(line)),
    ...(await list('/run/netns')).filter((name) => seen.networkNamespaces.has(name)),
    ...(await list('/var/lib/cni/results')).filter((name) => [...seen.ids].some((id) => name.includes(id))),
  ];
}

async function list(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

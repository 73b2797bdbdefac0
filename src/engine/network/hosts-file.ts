import { join } from 'node:path';
import type { Container, PodSpec } from '../../api/types.ts';

export interface HostsFileOptions {
  /** Addresses of the pod, primary first. */
  podIPs: readonly string[];
  hostname: string;
  /** Domain of the host name. May be empty. */
  domain: string;
  hostAliases: PodSpec['hostAliases'];
  hostNetwork: boolean;
  /** Content of the node's own file, copied for a host-network pod. */
  nodeHostsFile: string;
}

/** Returns the path of a pod's hosts file, `<podDir>/etc-hosts`. */
export function hostsFilePath(podDir: string): string {
  return join(podDir, 'etc-hosts');
}

/** Returns the content of a pod's /etc/hosts. kubelet: kubelet_pods.go ensureHostsFile */
export function hostsFileContent(options: HostsFileOptions): string {
  const body = options.hostNetwork ? hostNetworkContent(options) : podNetworkContent(options);
  return body + aliasBlock(options.hostAliases ?? []);
}

/**
 * True if a container gets the pod's hosts file. It does not if it mounts /etc/hosts itself, or before the pod has an
 * address. kubelet: kubelet_pods.go shouldMountHostsFile
 */
export function shouldMountHostsFile(
  container: Pick<Container, 'volumeMounts'>,
  pod: Pick<HostsFileOptions, 'hostNetwork' | 'podIPs'>,
): boolean {
  if (container.volumeMounts?.some((mount) => mount.mountPath === '/etc/hosts')) return false;
  return pod.hostNetwork || pod.podIPs.length > 0;
}

function hostNetworkContent({ nodeHostsFile }: HostsFileOptions): string {
  return `# Kubernetes-managed hosts file (host network).\n${nodeHostsFile}`;
}

function podNetworkContent({ podIPs, hostname, domain }: HostsFileOptions): string {
  const names = domain ? [`${hostname}.${domain}`, hostname] : [hostname];
  const lines = [
    '# Kubernetes-managed hosts file.',
    '127.0.0.1\tlocalhost',
    '::1\tlocalhost ip6-localhost ip6-loopback',
    'fe00::0\tip6-localnet',
    'fe00::0\tip6-mcastprefix',
    'fe00::1\tip6-allnodes',
    'fe00::2\tip6-allrouters',
    ...podIPs.map((ip) => [ip, ...names].join('\t')),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

function aliasBlock(hostAliases: NonNullable<PodSpec['hostAliases']>): string {
  if (hostAliases.length === 0) return '';
  const lines = hostAliases.map(({ ip, hostnames = [] }) => `${ip}\t${hostnames.join('\t')}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join('')}`;
}

import { errorMessage, hasCode, UserError } from '../../errors.ts';
import { maxNamedFileBytes, readRegularFile } from '../../files/regular-file.ts';
import type { DNSConfig } from './dns.ts';
import { canonicalIP } from './ip-address.ts';
import { parseResolvConf } from './resolv-conf.ts';

/** Files of local resolvers that list the servers which they query: systemd-resolved, NetworkManager, dnsmasq. */
const upstreamFiles = [
  '/run/systemd/resolve/resolv.conf',
  '/run/NetworkManager/no-stub-resolv.conf',
  '/run/dnsmasq/resolv.conf',
];

/** What to do if pods cannot reach a name server. */
export const nameServersHint =
  'Set dnsConfig.nameservers in the pod, or name another resolver file: kubelet-ts run --resolv-conf FILE';

/** The node's resolver settings, for pods on its network and for pods with their own network. */
export interface Resolvers {
  host: DNSConfig;
  ownNetwork: DNSConfig;
}

/**
 * Reads the node's resolver file. If a pod with its own network can reach none of its servers, also reads the files of
 * local resolvers. Rejects with a `UserError` if the first file cannot be read.
 */
export async function readResolvers(resolvConf: string, upstreams = upstreamFiles): Promise<Resolvers> {
  const host = await readResolvConf(resolvConf);
  const own = host.servers.filter(isReachable);
  if (own.length > 0) return { host, ownNetwork: { ...host, servers: own } };
  for (const path of upstreams) {
    const servers = (await readUpstream(path)).filter(isReachable);
    if (servers.length > 0) return { host, ownNetwork: { ...host, servers } };
  }
  return { host, ownNetwork: host };
}

async function readResolvConf(path: string): Promise<DNSConfig> {
  try {
    return await read(path);
  } catch (cause) {
    const hint = 'Create the file, or name another one: kubelet-ts run --resolv-conf FILE';
    throw new UserError(`cannot read the resolver file of this node: ${errorMessage(cause)}`, { cause, hint });
  }
}

async function read(path: string): Promise<DNSConfig> {
  const bytes = await readRegularFile(path, maxNamedFileBytes, { followLinks: true });
  return parseResolvConf(bytes.toString('utf8'), path);
}

async function readUpstream(path: string): Promise<string[]> {
  try {
    return (await read(path)).servers;
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}

/** True if a pod with its own network can reach none of the servers. Without a server, programs ask loopback. */
export function leadsNowhere({ servers }: Pick<DNSConfig, 'servers'>): boolean {
  return !servers.some(isReachable);
}

/** Returns the message about servers that pods cannot reach. */
export function unreachableText(resolvConf: string, servers: readonly string[]): string {
  const listed = servers.length === 0 ? '' : `: ${servers.join(', ')}`;
  return `${resolvConf} names no server that pods with their own network can reach${listed}`;
}

/**
 * False for loopback addresses, and for link-local ones of IPv6, which end at the bridge. `0.0.0.0` and `::` mean this
 * host. With IPv4, clouds have servers at link-local addresses, and the machine forwards to them.
 */
function isReachable(server: string): boolean {
  if (/^fe[89ab][\da-f]:/i.test(server)) return false;
  const address = canonicalIP(server) ?? '';
  return !address.startsWith('127.') && !['0.0.0.0', '::', '::1'].includes(address);
}

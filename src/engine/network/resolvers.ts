import { errorMessage, hasCode, UserError } from '../../errors.ts';
import { maxNamedFileBytes, readRegularFile } from '../../files/regular-file.ts';
import type { DNSConfig } from './dns.ts';
import { canonicalIP } from './ip-address.ts';
import { parseResolvConf } from './resolv-conf.ts';

/** Lists the servers that systemd-resolved queries. /etc/resolv.conf only has its own loopback address. */
const upstreamResolvConf = '/run/systemd/resolve/resolv.conf';

/** What to do if pods cannot reach a name server. */
export const nameServersHint =
  'Set dnsConfig.nameservers in the pod, or name another resolver file: kubelet-ts run --resolv-conf FILE';

/** The node's resolver settings, for pods on its network and for pods with their own network. */
export interface Resolvers {
  host: DNSConfig;
  ownNetwork: DNSConfig;
}

/**
 * Reads the node's resolver file, and the file of systemd-resolved if needed. Rejects with a `UserError` if the first
 * cannot be read.
 */
export async function readResolvers(resolvConf: string, upstream = upstreamResolvConf): Promise<Resolvers> {
  const host = await readResolvConf(resolvConf);
  if (!leadsNowhere(host)) return { host, ownNetwork: host };
  return { host, ownNetwork: forOwnNetwork(host, await readUpstream(upstream)) };
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

async function readUpstream(path: string): Promise<DNSConfig | undefined> {
  try {
    return await read(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

/**
 * Returns the settings for a pod with its own network, where nothing listens on loopback. If all servers of the host
 * are on loopback, the servers of `upstream` replace them. If `upstream` has only loopback servers too, nothing
 * changes.
 */
export function forOwnNetwork(host: DNSConfig, upstream: DNSConfig | undefined): DNSConfig {
  const servers = upstream?.servers.filter((server) => !isOnLoopback(server)) ?? [];
  return leadsNowhere(host) && servers.length > 0 ? { ...host, servers } : host;
}

/** True if a pod with its own network can reach none of the servers. */
export function leadsNowhere({ servers }: Pick<DNSConfig, 'servers'>): boolean {
  return servers.length > 0 && servers.every(isOnLoopback);
}

/** `0.0.0.0` and `::` also mean this host. */
function isOnLoopback(server: string): boolean {
  const address = canonicalIP(server) ?? '';
  return address.startsWith('127.') || ['0.0.0.0', '::', '::1'].includes(address);
}

import type { Pod } from '../../api/types.ts';
import { canonicalIP, isIPv6Address } from './ip-address.ts';

/** The content of the resolver file of a pod or of the node. */
export interface DNSConfig {
  servers: string[];
  searches: string[];
  options: string[];
}

export interface DNSSettings {
  /** Addresses of the cluster's DNS service (clusterDNS). Invalid addresses are skipped. */
  clusterDNS: readonly string[];
  /** Domain of the cluster (clusterDomain), such as `cluster.local`; may be empty. */
  clusterDomain: string;
  /** The node's resolver file. Undefined if the node is configured to use none (resolvConf ""). */
  hostResolvConf: DNSConfig | undefined;
  /** Addresses of the node, primary first. */
  nodeIPs: readonly string[];
}

/** A problem with the pod's DNS settings, with the kubelet's event reason. */
export interface DNSWarning {
  reason: 'MissingClusterDNS' | 'DNSConfigForming';
  /** Object of the event. */
  about: 'pod' | 'node';
  message: string;
}

const defaultClusterOptions = ['ndots:5'];
const maxServers = 3;
const maxSearches = 32;
const maxSearchLength = 253;
const maxSearchListLength = 2048;

/**
 * Returns the DNS servers, search list and options of a pod, cut to what resolvers accept. kubelet: network/dns/dns.go
 * GetPodDNS
 */
export function podDNS(pod: Pod, settings: DNSSettings): { config: DNSConfig; warnings: DNSWarning[] } {
  const source = dnsSource(pod);
  const clusterServers = settings.clusterDNS.flatMap((server) => canonicalIP(server) ?? []);
  const missingClusterDNS = source === 'cluster' && clusterServers.length === 0;
  const base = missingClusterDNS
    ? hostDNS(settings)
    : baseDNS(source, pod, { ...settings, clusterDNS: clusterServers });
  const limited = fitLimits(withDNSConfig(base, pod.spec.dnsConfig));
  return {
    config: limited.config,
    warnings: [...(missingClusterDNS ? missingClusterDNSWarnings(pod) : []), ...limited.warnings],
  };
}

type DNSSource = 'none' | 'cluster' | 'host';

/** A missing or unknown policy counts as the cluster's, even on the host network. kubelet: getPodDNSType */
function dnsSource({ spec }: Pod): DNSSource {
  switch (spec.dnsPolicy) {
    case 'None':
      return 'none';
    case 'Default':
      return 'host';
    case 'ClusterFirst':
      return spec.hostNetwork ? 'host' : 'cluster';
    case undefined:
    default:
      return 'cluster';
  }
}

function baseDNS(source: DNSSource, pod: Pod, settings: DNSSettings): DNSConfig {
  switch (source) {
    case 'none':
      return { servers: [], searches: [], options: [] };
    case 'cluster':
      return clusterDNS(pod, settings);
    case 'host':
      return hostDNS(settings);
  }
}

function clusterDNS(pod: Pod, { clusterDNS: servers, clusterDomain, hostResolvConf }: DNSSettings): DNSConfig {
  const hostSearches = hostResolvConf?.searches ?? [];
  const serviceDomain = `svc.${clusterDomain}`;
  return {
    servers: [...servers],
    searches: clusterDomain
      ? unique([`${pod.metadata.namespace}.${serviceDomain}`, serviceDomain, clusterDomain, ...hostSearches])
      : hostSearches,
    options: defaultClusterOptions,
  };
}

/** Without a resolver file a pod uses the loopback address of each of the node's address families. */
function hostDNS({ hostResolvConf, nodeIPs }: DNSSettings): DNSConfig {
  if (hostResolvConf) return hostResolvConf;
  const servers = nodeIPs.map((ip) => (isIPv6Address(ip) ? '::1' : '127.0.0.1'));
  return { servers: servers.length > 0 ? servers : ['127.0.0.1'], searches: ['.'], options: [] };
}

/** kubelet: network/dns/dns.go appendDNSConfig */
function withDNSConfig(base: DNSConfig, added: Pod['spec']['dnsConfig']): DNSConfig {
  if (!added) return base;
  return {
    servers: unique([...base.servers, ...(added.nameservers ?? [])]),
    searches: unique([...base.searches, ...(added.searches ?? [])]),
    options: mergeOptions(base.options, added.options ?? []),
  };
}

function mergeOptions(base: readonly string[], added: readonly { name?: string; value?: string }[]): string[] {
  const values = new Map<string, string>();
  for (const option of base) {
    const [name = '', ...rest] = option.split(':');
    values.set(name, rest.join(':'));
  }
  for (const { name = '', value = '' } of added) values.set(name, value);
  return [...values].map(([name, value]) => (value ? `${name}:${value}` : name));
}

/** kubelet: network/dns/dns.go formDNSConfigFitsLimits */
function fitLimits({ servers, searches, options }: DNSConfig): { config: DNSConfig; warnings: DNSWarning[] } {
  const fittingServers = servers.slice(0, maxServers);
  const fittingSearches = fitSearchLimits(searches);
  const warnings: DNSWarning[] = [];
  if (fittingServers.length < servers.length) warnings.push(limitWarning('nameservers', fittingServers));
  if (fittingSearches.length < searches.length) warnings.push(limitWarning('search domains', fittingSearches));
  return { config: { servers: fittingServers, searches: fittingSearches, options }, warnings };
}

/** Drops domains that are too long (glibc aborts on them), then domains from the end until the list fits. */
function fitSearchLimits(searches: readonly string[]): string[] {
  const fitting = searches.slice(0, maxSearches).filter((domain) => domain.length <= maxSearchLength);
  while (fitting.join(' ').length > maxSearchListLength) fitting.pop();
  return fitting;
}

function limitWarning(what: string, applied: readonly string[]): DNSWarning {
  return {
    reason: 'DNSConfigForming',
    about: 'pod',
    message: `Too many or too long ${what}, some were left out. Applied: ${applied.join(' ')}`,
  };
}

function missingClusterDNSWarnings(pod: Pod): DNSWarning[] {
  const message = `No clusterDNS is configured: the policy ${pod.spec.dnsPolicy ?? 'ClusterFirst'} falls back to the DNS settings of the node`;
  return [
    {
      reason: 'MissingClusterDNS',
      about: 'node',
      message: `${pod.metadata.namespace}/${pod.metadata.name}: ${message}`,
    },
    { reason: 'MissingClusterDNS', about: 'pod', message },
  ];
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}

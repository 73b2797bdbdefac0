import { isIPv4, isIPv6 } from 'node:net';

export type IPFamily = 'IPv4' | 'IPv6';

/** Of the primary address of a node; IPv4 if it has none. */
export function ipFamilyOf([primary = '']: readonly string[]): IPFamily {
  return isIPv6(primary) ? 'IPv6' : 'IPv4';
}

/** At most one address of each family, the node's own family first. kubelet: kubelet_pods.go sortPodIPs */
export function sortPodIPs(ips: readonly string[], nodeIPFamily: IPFamily): string[] {
  const families = nodeIPFamily === 'IPv4' ? [isIPv4, isIPv6] : [isIPv6, isIPv4];
  return families.flatMap((isOfFamily) => ips.filter(isOfFamily).slice(0, 1));
}

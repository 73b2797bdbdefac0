import { isIPv4, isIPv6 } from 'node:net';

/**
 * An address as Go writes it: an IPv4 address that was written as IPv6 in four numbers, IPv6 with its longest run of zeros left
 * out. Undefined for what is no address. kubelet: netutils.ParseIPSloppy, net.IP String
 */
export function canonicalIP(text: string): string | undefined {
  const withoutZeros = text.replaceAll(/(^|\.)0+(?=\d)/g, '$1');
  if (isIPv4(withoutZeros)) return withoutZeros;
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const address = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const [, high = '', low = ''] = /^::ffff:([\da-f]+):([\da-f]+)$/.exec(address) ?? [];
  return high === '' ? address : [...bytesOf(high), ...bytesOf(low)].join('.');
}

/** True for an address that is IPv6 and no IPv4 address in disguise. kubelet: netutils.IsIPv6String */
export function isIPv6Address(text: string): boolean {
  return canonicalIP(text)?.includes(':') ?? false;
}

function bytesOf(group: string): number[] {
  const value = parseInt(group, 16);
  return [value >> 8, value & 0xff];
}

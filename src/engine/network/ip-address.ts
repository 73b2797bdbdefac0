import { isIPv4, isIPv6 } from 'node:net';

/**
 * Returns an address as Go writes it. An IPv4 address in IPv6 form becomes four numbers. In IPv6 the longest run of
 * zeros is omitted. Returns undefined if it is not an address. kubelet: netutils.ParseIPSloppy, net.IP String
 */
export function canonicalIP(text: string): string | undefined {
  const withoutZeros = text.replaceAll(/(^|\.)0+(?=\d)/g, '$1');
  if (isIPv4(withoutZeros)) return withoutZeros;
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const address = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const [, high = '', low = ''] = /^::ffff:([\da-f]+):([\da-f]+)$/.exec(address) ?? [];
  return high === '' ? address : [...bytesOf(high), ...bytesOf(low)].join('.');
}

/** True for an IPv6 address that does not stand for an IPv4 one. kubelet: netutils.IsIPv6String */
export function isIPv6Address(text: string): boolean {
  return canonicalIP(text)?.includes(':') ?? false;
}

function bytesOf(group: string): number[] {
  const value = parseInt(group, 16);
  return [value >> 8, value & 0xff];
}

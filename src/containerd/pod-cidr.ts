import { isIPv4, isIPv6 } from 'node:net';
import { UserError } from '../errors.ts';
import { formatSubnet, parseSubnet } from './cni-subnet.ts';

/** The subnets that a flag chooses. */
export interface PodCIDR {
  readonly ipv4?: string;
  readonly ipv6?: string;
}

/** Parses `podCIDR`: a subnet, or one of each family with a comma between. Throws a `UserError` for anything else. */
export const parsePodCIDR = (text: string): PodCIDR =>
  parseSubnets(text, { flag: '--pod-cidr', users: 'pods', example: '10.50.0.0/24,fd00:50::/64' });

/** Parses `--service-cidr`, like `parsePodCIDR`. */
export const parseServiceCIDR = (text: string): PodCIDR =>
  parseSubnets(text, { flag: '--service-cidr', users: 'Services', example: '10.60.0.0/22,fd00:60::/112' });

function parseSubnets(
  text: string,
  { flag, users, example }: { flag: string; users: string; example: string },
): PodCIDR {
  const subnets = text.split(',').filter((subnet) => subnet !== '');
  const parsed = subnets.map((subnet) => {
    const [address = '', length = ''] = subnet.split('/');
    const bits = /^\d+$/.test(length) ? Number(length) : -1;
    if (isIPv4(address) && bits >= 8 && bits <= 29) return { ipv4: networkOf(subnet) };
    if (isIPv6(address) && address.endsWith('::') && bits >= 8 && bits <= 124) return { ipv6: subnet.toLowerCase() };
    throw new UserError(`${flag} ${text}: "${subnet}" is not a subnet for ${users}`, {
      hint: `Write a subnet such as ${example.split(',')[0] ?? ''}, or two: ${example}.`,
    });
  });
  const chosen: PodCIDR = Object.assign({}, ...parsed) as PodCIDR;
  if (Object.keys(chosen).length < parsed.length)
    throw new UserError(`${flag} ${text}: give one subnet of each family`);
  return chosen;
}

/** The subnet without the bits of a host in it. */
function networkOf(text: string): string {
  const { address, prefixLength } = parseSubnet(text);
  return formatSubnet({ address: ((address >>> (32 - prefixLength)) << (32 - prefixLength)) >>> 0, prefixLength });
}

import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import { UserError } from '../../errors.ts';
import { canonicalIP, isIPv6Address } from '../../engine/network/ip-address.ts';
import { detectNodeIPs } from './detect-node-ips.ts';

/**
 * The addresses of the node by `--node-ip`, or else the detected one. A text that is not an address is ignored, with a
 * warning. Throws a `UserError` for more than one of a family. kubelet: component-helpers node/util/ips.go
 * ParseNodeIPArgument
 */
export function nodeIPsOf(words: readonly string[]): { nodeIPs: string[]; warnings: ManifestProblem[] } {
  const all = words.map((word) => ({ word, ip: canonicalIP(word.trim()) }));
  const given = all.flatMap(({ ip = [] }) => ip);
  const [first = '', second = ''] = given;
  const refusal = (reason: string): UserError =>
    new UserError(`bad --node-ip "${words.join(',')}": ${reason}`, {
      hint: 'Give one address, or one of IPv4 and one of IPv6.',
    });
  if (given.length > 2 || (given.length === 2 && isIPv6Address(first) === isIPv6Address(second))) {
    throw refusal('must contain either a single IP or a dual-stack pair of IPs');
  }
  if (given.length === 2 && given.some(isUnspecified)) {
    throw refusal("dual-stack node IPs cannot include '0.0.0.0' or '::'");
  }
  const warnings = all
    .filter(({ ip }) => ip === undefined)
    .map(({ word }) => ({
      origin: '--node-ip',
      message: `"${word}" is no IP address, and is ignored`,
      severity: 'warning' as const,
    }));
  // One that stands for all addresses of a family has it detected.
  const nodeIPs = given.filter((ip) => !isUnspecified(ip));
  return { nodeIPs: nodeIPs.length > 0 ? nodeIPs : detectNodeIPs(), warnings };
}

const isUnspecified = (ip: string): boolean => ip === '0.0.0.0' || ip === '::';

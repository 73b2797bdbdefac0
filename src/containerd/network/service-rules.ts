import { createHash } from 'node:crypto';
import type { ForwardedPort, Forwarding } from '../../api/values/service.ts';
import { familyOf, type PortChain, type Rule } from './rules.ts';

/**
 * Returns the rules that forward the ports of Services. Each port has a chain with its endpoints, so that a change of
 * one Service leaves the others alone. What still leads to a cluster address after DNAT has no endpoint and is
 * rejected. kubelet: pkg/proxy/iptables/proxier.go syncProxyRules
 */
export function serviceRules(owner: string, { subnets, ports }: Forwarding): Rule[] {
  return [...subnets.flatMap(subnetRules), ...ports.flatMap((port) => portRules(owner, port))];
}

function subnetRules(subnet: string): Rule[] {
  const family = familyOf(subnet);
  const forwarded = `-m conntrack --ctstate DNAT --ctorigdst ${subnet}`;
  return [
    { family, chain: 'FORWARD', text: `${forwarded} -j ACCEPT` },
    { family, chain: 'REJECT', text: `-d ${subnet} -j REJECT` },
    // A pod of the same network must answer through the node, and other machines know no address of a pod.
    { family, chain: 'SNAT', text: `! -o lo ${forwarded} -j MASQUERADE` },
  ];
}

function portRules(owner: string, port: ForwardedPort): Rule[] {
  const { at, name, endpoints, keepsSource } = port;
  if (endpoints.length === 0) return [];
  const family = 'node' in at ? at.node : familyOf(at.clusterIP);
  const protocol = port.protocol.toLowerCase();
  const chain = chainOf(port);
  const match = `${destinationOf(at)} -p ${protocol} -m ${protocol} --dport ${port.port}`;
  const forwarded = `-m conntrack --ctstate DNAT --ctproto ${protocol} --ctorigdstport ${port.port}`;
  const rule = (where: Rule['chain'], text: string): Rule => ({ family, chain: where, text });
  return [
    rule('DNAT', `${match} -m comment --comment "${name}" -j ${owner}-${chain}`),
    // A sender of UDP that never pauses would otherwise stay with an endpoint that is gone.
    ...(protocol === 'udp' ? [rule('ZONE', `${match} -j CT --zone-orig ${zoneOf(endpoints)}`)] : []),
    ...('node' in at ? [rule('FORWARD', `${forwarded} -j ACCEPT`)] : []),
    ...('node' in at && !keepsSource ? [rule('SNAT', `! -o lo ${forwarded} -j MASQUERADE`)] : []),
    ...endpointRules(owner, chain, port).map((text) => rule(chain, text)),
  ];
}

function destinationOf(at: ForwardedPort['at']): string {
  if ('clusterIP' in at) return `-d ${at.clusterIP}`;
  // The kernel drops packets from ::1 that leave the node.
  return `${at.node === 'IPv6' ? '! -d ::1/128 ' : ''}-m addrtype --dst-type LOCAL`;
}

/** Chooses an endpoint at random for each connection, after the one that a client with affinity had last. */
function endpointRules(owner: string, chain: string, port: ForwardedPort): string[] {
  const { endpoints, affinitySeconds } = port;
  const protocol = port.protocol.toLowerCase();
  const targets = endpoints.map(({ ip, port: target }, index) => {
    const left = endpoints.length - index;
    return {
      dnat: `-j DNAT --to-destination ${ip.includes(':') ? `[${ip}]` : ip}:${target}`,
      random: left === 1 ? '' : ` -m statistic --mode random --probability ${(1 / left).toFixed(10)}`,
      list: `--name ${owner}-${chain}-${hashOf(`${ip} ${target}`).slice(0, 8)} --rsource`,
    };
  });
  if (affinitySeconds === 0) return targets.map(({ random, dnat }) => `-p ${protocol}${random} ${dnat}`);
  const update = `-m recent --update --seconds ${affinitySeconds} --reap`;
  return [
    ...targets.map(({ list, dnat }) => `-p ${protocol} ${update} ${list} ${dnat}`),
    ...targets.map(({ random, list, dnat }) => `-p ${protocol}${random} -m recent --set ${list} ${dnat}`),
  ];
}

/** The names of chains have at most 28 characters. */
function chainOf({ name, protocol, at, port }: ForwardedPort): PortChain {
  const place = 'node' in at ? at.node : at.clusterIP;
  return `P${hashOf([name, protocol, place, port].join(' ')).slice(0, 15)}`;
}

/** A zone of connection tracking for each set of endpoints. Zone 0 is everybody's. */
const zoneOf = (endpoints: ForwardedPort['endpoints']): number =>
  parseInt(hashOf(JSON.stringify(endpoints)).slice(0, 4), 16) || 1;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The first part of the names of the chains of a root-dir's Services. */
export const serviceOwner = (rootDir: string): string => `KTV${hashOf(rootDir).slice(0, 8).toUpperCase()}`;

import { checkStrictIP } from '../../api/values/names.ts';
import type { NetworkedSandbox, PortMapping } from './networked-sandbox.ts';
import { type Family, familyOf, type Rule } from './rules.ts';

/** Returns the rules that forward host ports to pods. If two pods have the same one, the first gets it. */
export function hostPortRules(sandboxes: readonly NetworkedSandbox[]): Rule[] {
  return sandboxes.flatMap((sandbox) =>
    sandbox.ips.flatMap((ip) =>
      sandbox.portMappings
        .filter((mapping) => isOf(familyOf(ip), mapping))
        .flatMap((mapping) => portRules(sandbox, ip, mapping)),
    ),
  );
}

const anyAddress = ['', '0.0.0.0', '::'];

function isOf(family: Family, { hostIP, hostPort }: PortMapping): boolean {
  return hostPort > 0 && isHostIP(hostIP) && (hostIP === '' || familyOf(hostIP) === family);
}

/** Kubernetes accepts any text as hostIP, which iptables would take for a name or for more rules. */
export const isHostIP = (text: string): boolean => text === '' || checkStrictIP(text) === undefined;

function portRules({ id, name }: NetworkedSandbox, ip: string, mapping: PortMapping): Rule[] {
  const { protocol, hostIP, hostPort, containerPort } = mapping;
  const family = familyOf(ip);
  // The kernel drops packets from ::1 that leave the node.
  const local = `${family === 'IPv6' ? '! -d ::1/128 ' : ''}-m addrtype --dst-type LOCAL`;
  const to = anyAddress.includes(hostIP) ? local : `-d ${hostIP}`;
  const match = `${to} -p ${protocol} -m ${protocol} --dport ${hostPort}`;
  const target = `${family === 'IPv6' ? `[${ip}]` : ip}:${containerPort}`;
  const dnat = `${match} -m comment --comment "${name}" -j DNAT --to-destination ${target}`;
  return [
    { family, chain: 'DNAT', text: dnat },
    // A sender of UDP that never pauses would otherwise stay with the pod that had the port before.
    ...(protocol === 'udp'
      ? [{ family, chain: 'ZONE', text: `${match} -j CT --zone-orig ${zoneOf(id)}` } as const]
      : []),
  ];
}

/** A zone of connection tracking for each sandbox, whose id is hexadecimal. Zone 0 is everybody's. */
const zoneOf = (id: string): number => parseInt(id.slice(0, 4), 16) || 1;

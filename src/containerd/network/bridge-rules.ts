import { type BridgeNetwork, type Family, familyOf, type Rule } from './rules.ts';

/** Returns the rules that connect the pods of a bridge with other machines, and keep them from the node's loopback. */
export function bridgeRules({ bridge, subnets }: BridgeNetwork): Rule[] {
  return subnets.flatMap((subnet) => {
    const family = familyOf(subnet);
    const rule = (chain: Rule['chain'], text: string): Rule => ({ family, chain, text });
    return [
      rule('FORWARD', `-i ${bridge} -j ACCEPT`),
      // Other machines reach only what a host port leads to, unless the policy accepts more.
      rule('FORWARD', `-o ${bridge} -m conntrack --ctstate RELATED,ESTABLISHED,DNAT -j ACCEPT`),
      rule('SNAT', `-s ${subnet} ! -d ${multicast[family]} ! -o ${bridge} -j MASQUERADE`),
      // A pod that reaches a pod of its bridge by a host port must get the answer through the node.
      rule('SNAT', `-s ${subnet} -o ${bridge} -m conntrack --ctstate DNAT -j MASQUERADE`),
      ...(family === 'IPv4' ? loopbackRules(bridge) : []),
    ];
  });
}

const multicast: Record<Family, string> = { IPv4: '224.0.0.0/4', IPv6: 'ff00::/8' };

/**
 * The node reaches host ports at 127.0.0.1, so the bridge routes loopback addresses (`route_localnet`). Without the
 * first rule, a pod could then reach what listens on the node's loopback.
 */
function loopbackRules(bridge: string): Rule[] {
  const guard = `-i ${bridge} -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP`;
  return [
    { family: 'IPv4', chain: 'INPUT', text: guard },
    { family: 'IPv4', chain: 'SNAT', text: `-s 127.0.0.0/8 -o ${bridge} -j MASQUERADE` },
  ];
}

import type { Facts, LinkFacts, NetworkFacts, PacketFacts } from './facts.ts';
import { ok, onFact, type Verdict, warning } from './finding.ts';

/** Why packets of pods do not arrive. For the network of another program, only forwarding is checked. */
export function checkPackets({ network }: Facts): Verdict[] {
  return onFact(network, (facts) => {
    const { bridges } = facts.packets;
    if (bridges.length === 0) return facts.configs.length === 0 ? [] : judgeForwarding(facts);
    const found = [
      ...judgeForwarding(facts),
      ...bridges.flatMap((bridge) => judgeBridge(bridge, facts.packets)),
      ...judgeFirewalld(facts),
      ...judgeChains(facts.packets),
      ...judgeSenders(facts.packets),
    ];
    return found.length > 0
      ? found
      : [ok(`nothing blocks packets of pods on ${bridges.map(({ name }) => name).join(', ')}`)];
  });
}

/** The CNI plugin sets it only when it creates the bridge. */
function judgeForwarding({ ipForward }: NetworkFacts): Verdict[] {
  if (ipForward !== '0') return [];
  const evidence = 'net.ipv4.ip_forward is 0: pods reach no other machine, and no machine reaches their host ports';
  return [warning(evidence, 'sysctl -w net.ipv4.ip_forward=1\nKeep it with a file in /etc/sysctl.d')];
}

function judgeBridge(bridge: LinkFacts, { rules, uplinks }: PacketFacts): Verdict[] {
  return [...judgeRules(bridge, rules), ...judgeMTU(bridge, uplinks), ...judgeFamilies(bridge, uplinks)];
}

/** Somebody may have flushed the tables, as firewalls do when they reload. */
function judgeRules({ name }: LinkFacts, rules: PacketFacts['rules']): Verdict[] {
  if (rules === undefined) return [];
  const missing = ['FORWARD', 'SNAT'].filter((chain) => !rules.ownChains.includes(`${name.toUpperCase()}-${chain}`));
  if (missing.length === 0) return [];
  const evidence = `rules for ${name} were removed from iptables (${missing.join(', ')}): pods may not reach other machines`;
  return [warning(evidence, 'The agent adds them within a minute. At once: systemctl restart kubelet-ts')];
}

function judgeMTU({ name, mtu }: LinkFacts, uplinks: PacketFacts['uplinks']): Verdict[] {
  const narrow = uplinks.find((uplink) => uplink.mtu !== undefined && mtu !== undefined && uplink.mtu < mtu);
  if (narrow === undefined) return [];
  const evidence = `the MTU of ${name} is ${mtu ?? ''}, that of ${narrow.name} ${narrow.mtu ?? ''}: large packets of pods may be lost`;
  return [warning(evidence, 'kubelet-ts stop POD; kubelet-ts start POD: a new sandbox gets the MTU of the uplink')];
}

function judgeFamilies({ name, families }: LinkFacts, uplinks: PacketFacts['uplinks']): Verdict[] {
  const isOnlyIPv6 = uplinks.length > 0 && uplinks.every((uplink) => !uplink.families.includes('IPv4'));
  if (!isOnlyIPv6 || families.includes('IPv6')) return [];
  const evidence = `this machine reaches others only with IPv6, and ${name} has only IPv4: pods reach no other machine`;
  return [warning(evidence, 'Install ip6tables, run kubelet-ts down --all, and start kubelet-ts again')];
}

/** firewalld rejects packets that no zone allows, whatever iptables accepts. The CNI plugin adds pods to a zone. */
function judgeFirewalld({ packets: { hasFirewalld, bridges }, pluginFolders }: NetworkFacts): Verdict[] {
  if (!hasFirewalld || pluginFolders.some(({ plugins }) => plugins.includes('firewall'))) return [];
  const fixes = bridges.map(({ name }) => `firewall-cmd --permanent --zone=trusted --add-interface=${name}`);
  const evidence = 'firewalld runs, and the CNI plugin firewall is missing: it may reject packets of pods';
  return [warning(evidence, [...fixes, 'firewall-cmd --reload'].join('\n'))];
}

/** A packet must pass the chains of all tables. */
function judgeChains({ droppingChains }: PacketFacts): Verdict[] {
  return droppingChains.map((chain) =>
    warning(
      `the policy of the nftables chain ${chain} drops forwarded packets, also those of pods`,
      [
        `nft insert rule ${chain} iifname '"kts*"' accept`,
        `nft insert rule ${chain} oifname '"kts*"' ct state established,related accept`,
        `nft insert rule ${chain} oifname '"kts*"' ct status dnat accept`,
      ].join('\n'),
    ),
  );
}

/** A strict check drops what arrives on another interface than the one that leads to its sender. */
function judgeSenders({ uplinks }: PacketFacts): Verdict[] {
  const ipv4 = uplinks.filter(({ families }) => families.includes('IPv4'));
  if (ipv4.length < 2) return [];
  return ipv4
    .filter(({ rpFilter }) => rpFilter === 1)
    .map(({ name }) =>
      warning(
        `${name} is one of several uplinks, and rp_filter is strict: packets whose answer would leave by another one are dropped`,
        `sysctl -w net.ipv4.conf.${name.replaceAll('.', '/')}.rp_filter=2`,
      ),
    );
}

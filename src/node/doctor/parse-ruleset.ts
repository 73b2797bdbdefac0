/** What iptables-save prints, as far as the checks need it. */
export interface SavedRules {
  /** Policy of the chain FORWARD. Undefined if its table is empty. */
  forwardPolicy?: string;
  /** Our chains to which a chain of the kernel jumps. */
  ownChains: string[];
}

/** Parses the output of iptables-save. */
export function parseSavedRules(saved: string): SavedRules {
  const filter = saved.split(/^(?=\*)/m).find((table) => table.startsWith('*filter\n')) ?? '';
  const forwardPolicy = /^:FORWARD (\S+) /m.exec(filter)?.[1];
  const jump = /^-A [A-Z]+ (?:.* )?-j (KTS[0-9A-F]+-[A-Z]+)$/gm;
  const ownChains = [...saved.matchAll(jump)].flatMap(([, chain = '']) => chain);
  return { ...(forwardPolicy !== undefined && { forwardPolicy }), ownChains };
}

/**
 * Returns the chains of nftables that drop forwarded packets by their policy, such as `inet filter forward`, from the
 * output of `nft list ruleset`. Excludes those with a rule for our bridges, and the tables of iptables.
 */
export function parseDroppingChains(ruleset: string): string[] {
  return ruleset.split(/^(?=table )/m).flatMap((table) => {
    const [, family = '', name = ''] = /^table (\S+) (\S+) \{/.exec(table) ?? [];
    if (/^ip6? (filter|nat|mangle|raw|security)$/.test(`${family} ${name}`)) return [];
    return table.split(/^(?=\tchain )/m).flatMap((chain) => {
      const drops = /type filter hook forward priority [^;]+; policy drop;/.test(chain);
      return drops && !chain.includes('kts') ? [`${family} ${name} ${/^\tchain (\S+)/.exec(chain)?.[1] ?? ''}`] : [];
    });
  });
}

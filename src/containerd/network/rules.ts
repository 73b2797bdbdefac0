export type Family = 'IPv4' | 'IPv6';

interface ChainPlace {
  readonly table: string;
  /** The chains of the kernel that jump to it. */
  readonly from: readonly string[];
  /** True if it comes before the rules of others. */
  readonly isFirst?: boolean;
}

/**
 * Our chains in the order in which their jumps are placed, and their tables in the order in which they are updated. A
 * zone must not begin before the DNAT of its connections: the first packet in it decides for all later ones.
 */
export const chains = {
  INPUT: { table: 'filter', from: ['INPUT'], isFirst: true },
  FORWARD: { table: 'filter', from: ['FORWARD'] },
  REJECT: { table: 'filter', from: ['FORWARD', 'OUTPUT'], isFirst: true },
  DNAT: { table: 'nat', from: ['PREROUTING', 'OUTPUT'] },
  SNAT: { table: 'nat', from: ['POSTROUTING'] },
  ZONE: { table: 'raw', from: ['PREROUTING', 'OUTPUT'] },
} as const satisfies Record<string, ChainPlace>;

/** A chain for one port of a Service, to which rules in DNAT jump. */
export type PortChain = `P${string}`;

export type Chain = keyof typeof chains | PortChain;

export const isPortChain = (chain: string): chain is PortChain => /^P[0-9a-f]+$/.test(chain);

export const placeOf = (chain: Chain): ChainPlace => (isPortChain(chain) ? { table: 'nat', from: [] } : chains[chain]);

/** One rule of ours: where it goes, and what follows the chain in the syntax of iptables-save. */
export interface Rule {
  readonly family: Family;
  readonly chain: Chain;
  readonly text: string;
}

/** A bridge of ours. */
export interface BridgeNetwork {
  /** Its interface, such as `kts0ade00`. */
  readonly bridge: string;
  /** One IPv4 subnet, and perhaps one of IPv6. */
  readonly subnets: readonly string[];
}

/** The family of an address or a subnet. */
export const familyOf = (address: string): Family => (address.includes(':') ? 'IPv6' : 'IPv4');

export type Family = 'IPv4' | 'IPv6';

/** Our chains: the table of each, and the chains of the kernel that jump to it. */
export const chains = {
  ZONE: { table: 'raw', from: ['PREROUTING', 'OUTPUT'] },
  INPUT: { table: 'filter', from: ['INPUT'] },
  FORWARD: { table: 'filter', from: ['FORWARD'] },
  DNAT: { table: 'nat', from: ['PREROUTING', 'OUTPUT'] },
  SNAT: { table: 'nat', from: ['POSTROUTING'] },
} as const;

export type Chain = keyof typeof chains;

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

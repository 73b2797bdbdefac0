/** An IPv4 network. `address` is a 32-bit number in host byte order. */
export interface Subnet {
  readonly address: number;
  readonly prefixLength: number;
}

/**
 * Returns a private /24 for pods that overlaps no route of the host, in our order of preference. If routes cover whole
 * private blocks (usually a VPN's), returns one that overlaps only routes wider than /17: ours is more specific and
 * wins on this machine. Returns undefined if there is none either.
 */
export function computeFreeSubnet(routes: readonly Subnet[]): Subnet | undefined {
  return firstFree(podCandidates, routes);
}

/** Like `computeFreeSubnet`: a /22 for the addresses of Services. */
export function computeFreeServiceSubnet(routes: readonly Subnet[]): Subnet | undefined {
  return firstFree(serviceCandidates, routes);
}

function firstFree(candidates: readonly Subnet[], routes: readonly Subnet[]): Subnet | undefined {
  const meets = (subnet: Subnet, shortest: number): boolean =>
    routes.some((route) => route.prefixLength >= shortest && overlap(route, subnet));
  // A prefix shorter than /8 is a default route, or one of the two halves into which a VPN splits it.
  return candidates.find((subnet) => !meets(subnet, 8)) ?? candidates.find((subnet) => !meets(subnet, wide));
}

/** Shorter prefixes cover whole private blocks: ours is more specific. */
const wide = 17;

export interface Route extends Subnet {
  /** The interface, such as `eth0`. */
  readonly device: string;
}

/** Parses the IPv4 routes of /proc/net/route. The columns Destination and Mask are little-endian hexadecimal. */
export function parseRoutes(procNetRoute: string): Route[] {
  return procNetRoute
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([device = '', destination, , , , , , mask]) =>
      destination === undefined || mask === undefined
        ? []
        : [{ device, address: hostOrder(destination), prefixLength: bitsSet(hostOrder(mask)) }],
    );
}

/** Returns a route that sends packets for a bridge's subnet, or their replies, to another interface. */
export function collidingRoute(subnet: Subnet, bridge: string, routes: readonly Route[]): Route | undefined {
  return routes.find((route) => route.device !== bridge && route.prefixLength >= wide && overlap(route, subnet));
}

/** Formats a subnet as in CNI configuration: `10.222.0.0/24`. */
export function formatSubnet({ address, prefixLength }: Subnet): string {
  const octets = [24, 16, 8, 0].map((shift) => (address >>> shift) & 255);
  return `${octets.join('.')}/${String(prefixLength)}`;
}

/** The reverse of `formatSubnet`. */
export function parseSubnet(text: string): Subnet {
  const [first = 0, second = 0, third = 0, fourth = 0, prefixLength = 32] = text.split(/[./]/).map(Number);
  return { address: ((first << 24) | (second << 16) | (third << 8) | fourth) >>> 0, prefixLength };
}

/**
 * Candidates that avoid networks this machine may join later: 10.96/12, 10.244/16 (kubeadm, flannel), 10.42/15 (k3s),
 * 10.88/16 (podman), 172.17-31 (docker), and the low 192.168 networks of homes.
 */
const podCandidates: readonly Subnet[] = [
  ...range(0, 255).map((third) => subnet(10, 222, third)),
  ...range(200, 254).map((third) => subnet(192, 168, third)),
  ...range(0, 255).map((third) => subnet(172, 16, third)),
];

const serviceCandidates: readonly Subnet[] = [
  ...range(0, 63).map((index) => subnet(10, 223, 4 * index, 22)),
  ...range(32, 49).map((index) => subnet(192, 168, 4 * index, 22)),
];

function subnet(first: number, second: number, third: number, prefixLength = 24): Subnet {
  return { address: ((first << 24) | (second << 16) | (third << 8)) >>> 0, prefixLength };
}

/** True if two networks have an address in common. */
export function overlap(a: Subnet, b: Subnet): boolean {
  const prefixLength = Math.min(a.prefixLength, b.prefixLength);
  if (prefixLength === 0) return true;
  const shift = 32 - prefixLength;
  return a.address >>> shift === b.address >>> shift;
}

function hostOrder(littleEndianHex: string): number {
  return Buffer.from(littleEndianHex.padStart(8, '0'), 'hex').readUInt32LE();
}

function bitsSet(mask: number): number {
  return mask.toString(2).replaceAll('0', '').length;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

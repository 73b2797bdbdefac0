import { existsSync, readFileSync } from 'node:fs';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';

export interface HostNetwork {
  /** Addresses by interface, in the order of the kernel. */
  interfaces: Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;
  routes: string;
  /** True if the interface is a bridge, such as that of pods. */
  isBridge: (name: string) => boolean;
}

/** Address of a node without a network. */
export const loopback = '127.0.0.1';

/**
 * Detects the address of the node. Prefers the interface of the default route, then the first interface that is not a
 * bridge, and IPv4 before IPv6. Returns 127.0.0.1 if there is only loopback. Finds only one family; for both, the
 * addresses must be named. kubelet: nodestatus/setters.go NodeAddress, apimachinery util/net ChooseHostInterface
 */
export function detectNodeIPs({ interfaces, routes, isBridge }: HostNetwork): string[] {
  const routed = defaultRouteInterfaces(routes);
  const others = Object.keys(interfaces).filter((name) => !routed.includes(name) && !isBridge(name));
  for (const names of [routed, others]) {
    const usable = names.flatMap((name) => interfaces[name] ?? []).filter(isUsable);
    const primary = usable.find(({ family }) => family === 'IPv4') ?? usable[0];
    if (primary !== undefined) return [primary.address];
  }
  return [loopback];
}

/** Excludes link-local addresses: in IPv6, these have a scope. */
const isUsable = ({ address, internal, scopeid = 0 }: NetworkInterfaceInfo): boolean =>
  !internal && scopeid === 0 && !address.startsWith('169.254.');

/** Interfaces of the default routes, lowest metric first. */
function defaultRouteInterfaces(routes: string): string[] {
  return routes
    .split('\n')
    .map((line) => line.split('\t'))
    .filter(([, destination, , , , , , mask]) => destination === '00000000' && mask === '00000000')
    .sort((a, b) => Number(a[6]) - Number(b[6]))
    .map(([name = '']) => name);
}

/** Reads the interfaces and routes of this machine. */
export function readHostNetwork(): HostNetwork {
  return {
    interfaces: networkInterfaces(),
    routes: existsSync('/proc/net/route') ? readFileSync('/proc/net/route', 'utf8') : '',
    // A network namespace may have the /sys of another one, which does not show our bridge.
    isBridge: (name) => name.startsWith('kts') || existsSync(`/sys/class/net/${name}/bridge`),
  };
}

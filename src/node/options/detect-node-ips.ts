import { existsSync, readFileSync } from 'node:fs';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';

/** The network of this machine. */
export interface HostNetwork {
  /** Addresses by interface, in the order of the kernel. */
  interfaces: Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;
  /** Text of /proc/net/route; empty if the file is missing. */
  routes: string;
  /** The interface joins others, as those of pods. */
  isBridge: (name: string) => boolean;
}

/** When nothing else is known of the node, it can be reached from itself. */
const loopback = '127.0.0.1';

/**
 * The address of the node: that of the interface of the default route, else the first one of an interface that is no bridge,
 * IPv4 before IPv6; 127.0.0.1 on a machine that has loopback alone. For both families they have to be named.
 * kubelet: nodestatus/setters.go NodeAddress, apimachinery util/net ChooseHostInterface
 */
export function detectNodeIPs({ interfaces, routes, isBridge }: HostNetwork = hostNetwork()): string[] {
  const routed = defaultRouteInterfaces(routes);
  const others = Object.keys(interfaces).filter((name) => !routed.includes(name) && !isBridge(name));
  for (const names of [routed, others]) {
    const usable = names.flatMap((name) => interfaces[name] ?? []).filter(isUsable);
    const primary = usable.find(({ family }) => family === 'IPv4') ?? usable[0];
    if (primary !== undefined) return [primary.address];
  }
  return [loopback];
}

const isUsable = ({ internal, scopeid = 0 }: NetworkInterfaceInfo): boolean => !internal && scopeid === 0;

/** Names of the interfaces of default routes, that of the lowest metric first. */
function defaultRouteInterfaces(routes: string): string[] {
  return routes
    .split('\n')
    .map((line) => line.split('\t'))
    .filter(([, destination, , , , , , mask]) => destination === '00000000' && mask === '00000000')
    .sort((a, b) => Number(a[6]) - Number(b[6]))
    .map(([name = '']) => name);
}

function hostNetwork(): HostNetwork {
  return {
    interfaces: networkInterfaces(),
    routes: existsSync('/proc/net/route') ? readFileSync('/proc/net/route', 'utf8') : '',
    isBridge: (name) => existsSync(`/sys/class/net/${name}/bridge`),
  };
}

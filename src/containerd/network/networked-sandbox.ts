import { BlockList, isIPv6 } from 'node:net';
import { isNotFound } from '../../cri/errors.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { BridgeNetwork } from './rules.ts';

/** A port of a pod. `hostPort` is 0 if the node has none for it. */
export interface PortMapping {
  readonly protocol: 'tcp' | 'udp' | 'sctp';
  readonly containerPort: number;
  readonly hostPort: number;
  /** The address of the node that has the port. Empty for all. */
  readonly hostIP: string;
}

/** A running sandbox with its own network. None of this changes while it runs. */
export interface NetworkedSandbox {
  readonly id: string;
  /** `namespace/name` of its pod. */
  readonly name: string;
  readonly ips: readonly string[];
  readonly portMappings: readonly PortMapping[];
}

/** Reads the sandboxes of all owners, and remembers those that run. */
export class NetworkedSandboxes {
  private known = new Map<string, NetworkedSandbox>();

  /** True if a sandbox that the last `list` returned has host ports. */
  hasHostPorts(id: string): boolean {
    return (this.known.get(id)?.portMappings.length ?? 0) > 0;
  }

  /** True if a sandbox that the last `list` returned has an address on a bridge. */
  areOn(network: BridgeNetwork): boolean {
    return onBridge([...this.known.values()], network).length > 0;
  }

  /** Lists the sandboxes that run, oldest first. */
  async list(runtime: Pick<RuntimeService, 'listPodSandbox' | 'podSandboxStatus'>): Promise<NetworkedSandbox[]> {
    const { items } = await runtime.listPodSandbox({ filter: { state: { state: 'SANDBOX_READY' } } });
    const oldestFirst = items.toSorted((a, b) => Number(a.createdAt - b.createdAt));
    const read = async (id: string): Promise<NetworkedSandbox | undefined> => {
      const { status, info } = await runtime.podSandboxStatus({ podSandboxId: id, verbose: true });
      if (status?.state !== 'SANDBOX_READY') return undefined;
      const { ip = '', additionalIps = [] } = status.network ?? {};
      return {
        id,
        name: `${status.metadata?.namespace ?? ''}/${status.metadata?.name ?? ''}`,
        ips: [ip, ...additionalIps.map((additional) => additional.ip)].filter((address) => address !== ''),
        portMappings: portMappingsOf(info['info']),
      };
    };
    const readUnlessRemoved = (id: string): Promise<NetworkedSandbox | undefined> =>
      read(id).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
    const found = await Promise.all(oldestFirst.map(async ({ id }) => this.known.get(id) ?? readUnlessRemoved(id)));
    const running = found.filter((sandbox) => sandbox !== undefined);
    this.known = new Map(running.map((sandbox) => [sandbox.id, sandbox]));
    return running;
  }
}

/** Returns the sandboxes that have an address on a bridge, without their other addresses. */
export function onBridge(sandboxes: readonly NetworkedSandbox[], network: BridgeNetwork): NetworkedSandbox[] {
  return sandboxes.flatMap((sandbox) => {
    const ips = sandbox.ips.filter((ip) => isIn(network, ip));
    return ips.length === 0 ? [] : [{ ...sandbox, ips }];
  });
}

/** True if an address belongs to a subnet of the bridge. */
export function isIn({ subnets }: BridgeNetwork, ip: string): boolean {
  const block = new BlockList();
  for (const subnet of subnets) {
    const [address = '', length = ''] = subnet.split('/');
    block.addSubnet(address, Number(length), typeOf(address));
  }
  return block.check(ip, typeOf(ip));
}

const typeOf = (address: string): 'ipv4' | 'ipv6' => (isIPv6(address) ? 'ipv6' : 'ipv4');

/** containerd's form of the request: Go leaves out fields that are zero. */
interface SandboxInfo {
  config?: { port_mappings?: { protocol?: number; container_port?: number; host_port?: number; host_ip?: string }[] };
}

function portMappingsOf(info = '{}'): PortMapping[] {
  const { config } = JSON.parse(info) as SandboxInfo;
  return (config?.port_mappings ?? []).flatMap(
    ({ protocol = 0, container_port: containerPort = 0, host_port: hostPort = 0, host_ip: hostIP = '' }) => {
      const name = protocols[protocol];
      return name === undefined || hostPort === 0 ? [] : [{ protocol: name, containerPort, hostPort, hostIP }];
    },
  );
}

const protocols = ['tcp', 'udp', 'sctp'] as const;

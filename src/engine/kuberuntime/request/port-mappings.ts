import { isIPv6Address } from '../../network/ip-address.ts';
import type { ContainerPort, Pod } from '../../../api/types.ts';
import type { PodSandboxConfig } from '../../../cri/types.ts';

type PortMapping = NonNullable<PodSandboxConfig['portMappings']>[number];

/**
 * Every port the regular containers declare, also those without a host port.
 * kubelet: container/helpers.go MakePortMappings
 */
export function portMappings({ spec }: Pod): PortMapping[] {
  return spec.containers.flatMap(({ ports = [] }) => withoutDuplicates(ports).map(portMapping));
}

/** A port name, or for a nameless port its whole content, counts once in a container; the first one wins. */
function withoutDuplicates(ports: readonly ContainerPort[]): ContainerPort[] {
  const seen = new Set<string>();
  return ports.filter((port) => {
    const key = portKey(port);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

function portKey({ name, protocol, hostIP = '', containerPort, hostPort = 0 }: ContainerPort): string {
  if (name) return name;
  return `${addressFamily(hostIP)}-${protocol ?? ''}-${hostIP}:${containerPort}:${hostPort}`;
}

function addressFamily(hostIP: string): 'any' | 'v4' | 'v6' {
  if (hostIP === '') return 'any';
  return isIPv6Address(hostIP) ? 'v6' : 'v4';
}

function portMapping({ protocol = 'TCP', containerPort, hostPort = 0, hostIP = '' }: ContainerPort): PortMapping {
  return { protocol: criProtocol(protocol), containerPort, hostPort, hostIp: hostIP };
}

function criProtocol(protocol: string): 'TCP' | 'UDP' | 'SCTP' {
  return protocol === 'UDP' || protocol === 'SCTP' ? protocol : 'TCP';
}

import type { ContainerPort, Pod } from '../../api/types.ts';

const everyAddress = '0.0.0.0';

/** A host port that a pod requests, and the pod that holds it. */
interface UsedPort {
  port: ContainerPort;
  holder: Pod;
}

/** True if another pod holds one of the pod's host ports. */
export function hasHostPortConflict(pod: Pod, others: readonly Pod[]): boolean {
  return usedHostPorts(pod, others).length > 0;
}

/** The host ports of the pod that other pods use. kubelet: nodeports/node_ports.go Fits */
export function usedHostPorts(pod: Pod, others: readonly Pod[]): UsedPort[] {
  const wanted = hostPorts(pod);
  if (wanted.length === 0) return [];
  return others.flatMap((holder) => {
    const used = hostPorts(holder);
    return wanted.filter((port) => used.some((other) => conflict(port, other))).map((port) => ({ port, holder }));
  });
}

/** For example `host port 8080/TCP is in use by pod default/web-edge1`. */
export function describeUsedPort({ port, holder }: UsedPort): string {
  const { hostIP = '', hostPort = 0, protocol = 'TCP' } = port;
  const { namespace, name } = holder.metadata;
  return `host port ${hostIP === '' ? '' : `${hostIP}:`}${hostPort}/${protocol} is in use by pod ${namespace}/${name}`;
}

/**
 * Host ports of regular containers. The runtime maps no ports of init containers and sidecars. kubelet:
 * nodeports/node_ports.go getContainerPorts
 */
function hostPorts({ spec }: Pod): ContainerPort[] {
  return spec.containers.flatMap(({ ports = [] }) => ports).filter(({ hostPort = 0 }) => hostPort > 0);
}

/** kubelet: scheduler/framework/types.go HostPortInfo CheckConflict */
function conflict(a: ContainerPort, b: ContainerPort): boolean {
  if (a.hostPort !== b.hostPort || (a.protocol ?? 'TCP') !== (b.protocol ?? 'TCP')) return false;
  const [addressOfA, addressOfB] = [addressOf(a), addressOf(b)];
  return addressOfA === addressOfB || addressOfA === everyAddress || addressOfB === everyAddress;
}

function addressOf({ hostIP = '' }: ContainerPort): string {
  return hostIP === '' ? everyAddress : hostIP;
}

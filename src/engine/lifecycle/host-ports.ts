import type { ContainerPort, Pod } from '../../api/types.ts';

const everyAddress = '0.0.0.0';

/** True when one of the pod's host ports is taken by another pod. kubelet: nodeports/node_ports.go Fits */
export function hasHostPortConflict(pod: Pod, others: readonly Pod[]): boolean {
  const wanted = hostPorts(pod);
  if (wanted.length === 0) return false;
  const taken = others.flatMap(hostPorts);
  return wanted.some((port) => taken.some((other) => conflict(port, other)));
}

/** Of containers only: the runtime maps no ports of init containers and sidecars. kubelet: nodeports/node_ports.go getContainerPorts */
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

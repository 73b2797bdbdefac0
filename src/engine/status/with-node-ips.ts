import type { PodSpec, PodStatus } from '../../api/types.ts';

/**
 * The status with the addresses of the node. A pod on the host network has them as its own.
 * kubelet: kubelet_pods.go generateAPIPodStatus, where there is an API server
 */
export function withNodeIPs(status: PodStatus, { hostNetwork }: PodSpec, nodeIPs: readonly string[]): PodStatus {
  const [hostIP] = nodeIPs;
  if (hostIP === undefined) return status;
  const ips = nodeIPs.map((ip) => ({ ip }));
  const isOnHost = hostNetwork === true && !status.podIP;
  return { ...status, hostIP, hostIPs: ips, ...(isOnHost && { podIP: hostIP, podIPs: ips }) };
}

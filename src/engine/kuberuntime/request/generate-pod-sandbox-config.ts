import type { ContainerPort, Pod } from '../../../api/types.ts';
import type { PodSandboxConfig } from '../../../cri/types.ts';
import { podLogsDirectory } from '../../container/log-paths.ts';
import type { DNSConfig } from '../../network/dns.ts';
import { isIPv6Address } from '../../network/ip-address.ts';
import { identityLabels } from './container-annotations.ts';
import { kernelHostname, type PodHostname } from './hostname.ts';
import { type NodeResources, overheadResources, sandboxResources } from './linux-resources.ts';
import { type PodSecurity, sandboxSecurityContext } from './security-context.ts';

/** Sandbox settings from sources other than the pod. */
export interface SandboxNode extends PodSecurity {
  /** Folder of all pod logs, such as /var/log/pods. */
  podLogsDir: string;
  /** The pod's cgroup in the driver's form. Empty if pods have no cgroups. */
  cgroupParent: string;
  /** From `podDNS`. */
  dns: DNSConfig;
  /** From `podHostname`. */
  hostname: PodHostname;
  resources: NodeResources;
  /** Names of the pod's containers that have CPUs for themselves. */
  exclusiveCPUs?: ReadonlySet<string> | undefined;
}

/**
 * The RunPodSandbox request's configuration. kubelet: kuberuntime/kuberuntime_sandbox.go generatePodSandboxConfig,
 * generatePodSandboxLinuxConfig
 */
export function generatePodSandboxConfig(pod: Pod, attempt: number, node: SandboxNode): PodSandboxConfig {
  const { name, namespace, uid } = pod.metadata;
  return {
    metadata: { name, namespace, uid, attempt },
    hostname: pod.spec.hostNetwork ? '' : kernelHostname(pod, node.hostname),
    logDirectory: podLogsDirectory(node.podLogsDir, pod.metadata),
    dnsConfig: node.dns,
    portMappings: portMappings(pod),
    labels: { ...pod.metadata.labels, ...identityLabels(pod) },
    annotations: { ...pod.metadata.annotations },
    linux: {
      cgroupParent: node.cgroupParent,
      securityContext: sandboxSecurityContext(pod, node),
      sysctls: sysctls(pod),
      overhead: overheadResources(pod, node.resources),
      resources: sandboxResources(pod, node.resources, node.exclusiveCPUs),
    },
  };
}

function sysctls({ spec }: Pod): Record<string, string> {
  return Object.fromEntries((spec.securityContext?.sysctls ?? []).map(({ name, value }) => [name, value]));
}

type PortMapping = NonNullable<PodSandboxConfig['portMappings']>[number];

/**
 * All ports of the regular containers, including those without a host port. kubelet: container/helpers.go
 * MakePortMappings
 */
export function portMappings({ spec }: Pod): PortMapping[] {
  return spec.containers.flatMap(({ ports = [] }) => withoutDuplicates(ports).map(portMapping));
}

/** Drops duplicate ports of a container: the same name, or the same content without a name. Keeps the first. */
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

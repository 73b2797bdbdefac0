import type { Pod } from '../../../api/types.ts';
import type { PodSandboxConfig } from '../../../cri/types.ts';
import type { DNSConfig } from '../../network/dns.ts';
import { identityLabels } from './container-annotations.ts';
import { kernelHostname, type PodHostname } from './hostname.ts';
import { overheadResources, sandboxResources, type NodeResources } from './linux-resources.ts';
import { podLogsDirectory } from '../../container/log-paths.ts';
import { portMappings } from './port-mappings.ts';
import { type PodSecurity, sandboxSecurityContext } from './security-context.ts';

/** All that a sandbox needs besides the pod. */
export interface SandboxNode extends PodSecurity {
  /** Folder of all pod logs, such as /var/log/pods. */
  podLogsDir: string;
  /** The pod's cgroup in the driver's form; empty when pods have no cgroups of their own. */
  cgroupParent: string;
  /** From `podDNS`. */
  dns: DNSConfig;
  /** From `podHostname`. */
  hostname: PodHostname;
  resources: NodeResources;
}

/**
 * What RunPodSandbox is asked for. kubelet: kuberuntime/kuberuntime_sandbox.go generatePodSandboxConfig,
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
      resources: sandboxResources(pod, node.resources),
    },
  };
}

function sysctls({ spec }: Pod): Record<string, string> {
  return Object.fromEntries((spec.securityContext?.sysctls ?? []).map(({ name, value }) => [name, value]));
}

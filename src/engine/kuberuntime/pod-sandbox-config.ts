import { podQOSClass } from '../../api/values/qos.ts';
import { normalizeSysctlName } from '../../api/values/sysctl-names.ts';
import type { Pod } from '../../api/types.ts';
import type { PodSandboxConfig } from '../../cri/types.ts';
import { cgroupPath, podCgroupName } from '../container-manager/cgroup-names.ts';
import type { PodEventRecorder } from '../view/event-recorder.ts';
import { podDNS } from '../network/dns.ts';
import { leadsNowhere, nameServersHint, readResolvers, unreachableText } from '../network/resolvers.ts';
import { reasons } from '../view/reasons.ts';
import type { RuntimeSettings } from './request/runtime-settings.ts';
import { generatePodSandboxConfig } from './request/generate-pod-sandbox-config.ts';
import { podHostname } from './request/hostname.ts';
import type { UserNamespace } from '../userns/user-namespaces.ts';

/**
 * Creates the sandbox configuration of a pod from the node's current resolver file. Records DNS problems if there is a
 * recorder.
 */
export async function podSandboxConfig(
  pod: Pod,
  attempt: number,
  node: RuntimeSettings,
  recorder?: PodEventRecorder,
  {
    userNamespace,
    exclusiveCPUs,
  }: { userNamespace?: UserNamespace | undefined; exclusiveCPUs?: ReadonlySet<string> } = {},
): Promise<PodSandboxConfig> {
  const hostNetwork = pod.spec.hostNetwork === true;
  // A pod with dnsPolicy None does not need the file. The kubelet reads it for every pod.
  const needsFile = node.resolvConf !== '' && pod.spec.dnsPolicy !== 'None';
  const resolvers = needsFile ? await readResolvers(node.resolvConf) : undefined;
  const { config: dns, warnings } = podDNS(pod, {
    clusterDNS: node.clusterDNS,
    clusterDomain: node.clusterDomain,
    hostResolvConf: hostNetwork ? resolvers?.host : resolvers?.ownNetwork,
    nodeIPs: node.nodeIPs(),
  });
  if (!hostNetwork && resolvers !== undefined && leadsNowhere(dns)) {
    const message = unreachableText(node.resolvConf, dns.servers);
    recorder?.warning(reasons.noReachableNameServer, message, undefined, nameServersHint);
  }
  for (const { reason, message, about } of warnings) {
    if (about !== 'pod') continue;
    // A standalone node usually has no cluster DNS. The kubelet records a warning.
    if (reason === 'MissingClusterDNS') recorder?.normal(reason, message);
    else recorder?.warning(reason, message);
  }
  return generatePodSandboxConfig(withDottedSysctls(pod), attempt, {
    podLogsDir: node.podLogsDir,
    cgroupParent: podCgroupParent(pod, node),
    dns,
    hostname: podHostname(pod, node.clusterDomain),
    resources: node.containerNode.resources,
    userNamespace,
    exclusiveCPUs,
  });
}

/** Runtimes expect sysctl names with dots. kubelet: component-helpers ConvertPodSysctlsVariableToDotsSeparator */
function withDottedSysctls(pod: Pod): Pod {
  const { securityContext } = pod.spec;
  if (securityContext?.sysctls === undefined) return pod;
  const sysctls = securityContext.sysctls.map(({ name, value }) => ({ name: normalizeSysctlName(name), value }));
  return { ...pod, spec: { ...pod.spec, securityContext: { ...securityContext, sysctls } } };
}

/** The pod's cgroup in the driver's form. Empty if pods have no cgroups. */
function podCgroupParent(pod: Pod, node: RuntimeSettings): string {
  if (!node.cgroupsPerQOS) return '';
  return cgroupPath(podCgroupName(node.cgroupRoot, podQOSClass(pod), pod.metadata.uid), node.cgroupDriver);
}

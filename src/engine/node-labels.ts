/** How Go, and with it Kubernetes, names what Node calls by another name. */
const goArchitectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/** The labels that a node gives itself, and those it was told. kubelet: kubelet_node_status.go initialNode */
export function nodeLabels(
  nodeName: string,
  nodeArch: string,
  configured: Readonly<Record<string, string>>,
): Record<string, string> {
  const arch = goArchitectures[nodeArch] ?? nodeArch;
  return {
    'kubernetes.io/hostname': nodeName,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': arch,
    'beta.kubernetes.io/os': 'linux',
    'beta.kubernetes.io/arch': arch,
    ...configured,
  };
}

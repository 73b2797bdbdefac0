import type { PodSandboxConfig } from '../../cri/types.ts';

/** The resolver file that a runtime makes of a sandbox's DNS settings. containerd: sandbox_run_linux.go parseDNSOptions */
export function resolvConfText({
  servers = [],
  searches = [],
  options = [],
}: NonNullable<PodSandboxConfig['dnsConfig']>): string {
  const lines = [
    ...(searches.length > 0 ? [`search ${searches.join(' ')}`] : []),
    ...servers.map((server) => `nameserver ${server}`),
    ...(options.length > 0 ? [`options ${options.join(' ')}`] : []),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

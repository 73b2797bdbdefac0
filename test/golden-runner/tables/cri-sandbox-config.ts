import type { Pod } from '../../../src/api/types.ts';
import { generatePodSandboxConfig } from '../../../src/engine/kuberuntime/request/generate-pod-sandbox-config.ts';
import type { DNSConfig } from '../../../src/engine/network/dns.ts';
import { makeNodeResources } from '../../engine/kuberuntime/node-resources.ts';
import { type RecordedConfig, sandboxConfigOf, sandboxOverWire } from '../cri-wire.ts';
import { orRefused } from '../or-refused.ts';
import { tableAdapter } from '../table-adapter.ts';

interface In {
  pod: Pod;
  attempt: number;
  cgroupParent: string;
  hostname: string;
  hostDomain: string;
  dns: DNSConfig;
  exclusiveCPUs?: string[];
}
type Out = { ok: false } | { ok: true; config: RecordedConfig };

export const criSandboxConfig = tableAdapter<In, Out>(
  'cri-sandbox-config',
  ({ pod, attempt, cgroupParent, hostname, hostDomain, dns, exclusiveCPUs }) =>
    orRefused(() => {
      const config = generatePodSandboxConfig(pod, attempt, {
        podLogsDir: '/var/log/pods',
        cgroupParent,
        dns,
        hostname: { hostname, domain: hostDomain },
        resources: makeNodeResources(),
        exclusiveCPUs: new Set(exclusiveCPUs),
      });
      return { config: sandboxOverWire(config) };
    }),
  { recorded: (out) => (out.ok ? { ok: true, config: sandboxConfigOf(out.config) } : out) },
);

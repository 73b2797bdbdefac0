import { describe, expect, it } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import { generatePodSandboxConfig } from '../../../src/engine/kuberuntime/generate-pod-sandbox-config.ts';
import type { DNSConfig } from '../../../src/engine/network/dns.ts';
import { UserError } from '../../../src/errors.ts';
import { loadTable } from '../../golden-tables.ts';
import { type RecordedConfig, sandboxConfigOf, sandboxOverWire } from './cri-wire.ts';
import { makeNodeResources } from './node-resources.ts';

interface In {
  pod: Pod;
  attempt: number;
  cgroupParent: string;
  hostname: string;
  hostDomain: string;
  dns: DNSConfig;
}
type Out = { ok: false } | { ok: true; config: RecordedConfig };

function actual({ pod, attempt, cgroupParent, hostname, hostDomain, dns }: In): unknown {
  try {
    const config = generatePodSandboxConfig(pod, attempt, {
      podLogsDir: '/var/log/pods',
      cgroupParent,
      dns,
      hostname: { hostname, domain: hostDomain },
      resources: makeNodeResources(),
    });
    return { ok: true, config: sandboxOverWire(config) };
  } catch (error) {
    if (error instanceof UserError) return { ok: false };
    throw error;
  }
}

describe('sandbox configurations agree with the recorded kubelet', () => {
  it.each(loadTable<In, Out>('cri-sandbox-config').map((entry, index) => ({ index, ...entry })))(
    'case $index ($in.pod.metadata.name)',
    ({ in: input, out }) => {
      expect(actual(input)).toEqual(out.ok ? { ok: true, config: sandboxConfigOf(out.config) } : out);
    },
  );
});

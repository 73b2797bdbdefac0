import { describe, expect, it } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import type { EnvironmentVariable } from '../../../src/engine/kuberuntime/environment.ts';
import { generateContainerConfig } from '../../../src/engine/kuberuntime/generate-container-config.ts';
import { UserError } from '../../../src/errors.ts';
import { loadTable } from '../../golden-tables.ts';
import { containerConfigOf, containerOverWire, type RecordedConfig } from './cri-wire.ts';
import { makeNodeResources } from './node-resources.ts';

interface In {
  pod: Pod;
  container: string;
  restartCount: number;
  imageRef: string;
  imageUID: number | null;
  imageUser: string;
  envs: EnvironmentVariable[];
  seccompDefault: boolean;
  memoryCapacityBytes: number;
  noCPUQuota: boolean;
}
type Out = { ok: false } | { ok: true; config: RecordedConfig };

function actual({ pod, restartCount, imageRef, envs, ...input }: In): unknown {
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const container = containers.find(({ name }) => name === input.container);
  if (!container) throw new Error(`The pod has no container ${input.container}`);
  const uid = input.imageUID ?? undefined;
  try {
    const config = generateContainerConfig({
      pod,
      container,
      restartCount,
      imageRef,
      imageUser: { ...(uid !== undefined && { uid }), username: input.imageUser },
      envs,
      node: {
        seccompProfileRoot: '/var/lib/kubelet/seccomp',
        seccompDefault: input.seccompDefault,
        resources: makeNodeResources({
          memoryCapacityBytes: BigInt(input.memoryCapacityBytes),
          cpuCFSQuota: !input.noCPUQuota,
        }),
      },
    });
    return { ok: true, config: containerOverWire(config) };
  } catch (error) {
    if (error instanceof UserError) return { ok: false };
    throw error;
  }
}

describe('container configurations agree with the recorded kubelet', () => {
  it.each(loadTable<In, Out>('cri-container-config').map((entry, index) => ({ index, ...entry })))(
    'case $index ($in.pod.metadata.name, $in.container)',
    ({ in: input, out }) => {
      expect(actual(input)).toEqual(out.ok ? { ok: true, config: containerConfigOf(out.config) } : out);
    },
  );
});

import type { Pod } from '../../../src/api/types.ts';
import { defaultFeatureGates } from '../../../src/api/values/feature-gates.ts';
import { withoutDisabledFields } from '../../../src/api/values/disabled-fields.ts';
import type { EnvironmentVariable } from '../../../src/engine/kuberuntime/request/environment.ts';
import { generateContainerConfig } from '../../../src/engine/kuberuntime/request/generate-container-config.ts';
import { makeNodeResources } from '../../engine/kuberuntime/node-resources.ts';
import { containerNamed } from '../container-named.ts';
import { containerConfigOf, containerOverWire, type RecordedConfig } from '../cri-wire.ts';
import { orRefused } from '../or-refused.ts';
import { tableAdapter } from '../table-adapter.ts';

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
  exclusiveCPUs?: string[];
}
type Out = { ok: false } | { ok: true; config: RecordedConfig };

export const criContainerConfig = tableAdapter<In, Out>(
  'cri-container-config',
  ({ pod: recorded, container, restartCount, imageRef, envs, imageUID, imageUser, ...node }) =>
    orRefused(() => {
      const pod = withoutDisabledFields(recorded, defaultFeatureGates);
      const config = generateContainerConfig({
        pod,
        container: containerNamed(pod, container),
        restartCount,
        imageRef,
        imageUser: { ...(imageUID !== null && { uid: imageUID }), username: imageUser },
        envs,
        exclusiveCPUs: new Set(node.exclusiveCPUs),
        node: {
          seccompProfileRoot: '/var/lib/kubelet/seccomp',
          seccompDefault: node.seccompDefault,
          resources: makeNodeResources({
            memoryCapacityBytes: BigInt(node.memoryCapacityBytes),
            cpuCFSQuota: !node.noCPUQuota,
          }),
        },
      });
      return { config: containerOverWire(config) };
    }),
  { recorded: (out) => (out.ok ? { ok: true, config: containerConfigOf(out.config) } : out) },
);

import { podQOSClass } from '../../../src/api/values/qos.ts';
import type { Pod } from '../../../src/api/types.ts';
import { containerOOMScoreAdj } from '../../../src/engine/container-manager/oom-score-adj.ts';
import { containerNamed } from '../container-named.ts';
import { tableAdapter } from '../table-adapter.ts';

interface In {
  pod: Pick<Pod, 'spec'>;
  container: string;
  memoryCapacity: number;
  static?: boolean;
}

export const oomScoreAdj = tableAdapter<In>(
  'oom-score-adj',
  ({ pod: { spec }, container, memoryCapacity, static: isStatic }) => {
    const annotations = isStatic ? { 'kubernetes.io/config.source': 'file' } : {};
    const metadata = { name: 'p', namespace: 'default', uid: 'u', annotations };
    const pod: Pod = { metadata, spec };
    return {
      oomScoreAdj: containerOOMScoreAdj(pod, containerNamed(pod, container), BigInt(memoryCapacity)),
      qosClass: podQOSClass(pod),
    };
  },
);

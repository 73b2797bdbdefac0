import { describe, expect, it } from 'vitest';
import { podQOSClass } from '../../../src/api/qos.ts';
import type { Pod } from '../../../src/api/types.ts';
import { containerOOMScoreAdj } from '../../../src/engine/container-manager/oom-score-adj.ts';
import { loadTable } from '../../golden-tables.ts';

interface In {
  pod: Pick<Pod, 'spec'>;
  container: string;
  memoryCapacity: number;
  static?: boolean;
}
interface Out {
  oomScoreAdj: number;
  qosClass: string;
}

function actual({ pod: { spec }, container: name, memoryCapacity, static: isStatic }: In): Out {
  const annotations = isStatic ? { 'kubernetes.io/config.source': 'file' } : {};
  const pod: Pod = { metadata: { name: 'p', namespace: 'default', uid: 'u', annotations }, spec };
  const container = [...(spec.initContainers ?? []), ...spec.containers].find((candidate) => candidate.name === name);
  if (!container) throw new Error(`The pod has no container ${name}`);
  return { oomScoreAdj: containerOOMScoreAdj(pod, container, BigInt(memoryCapacity)), qosClass: podQOSClass(pod) };
}

describe('oom_score_adj agrees with the recorded kubelet', () => {
  it.each(loadTable<In, Out>('oom-score-adj').map((entry, index) => ({ index, ...entry })))(
    'case $index',
    ({ in: input, out }) => {
      expect(actual(input)).toEqual(out);
    },
  );
});

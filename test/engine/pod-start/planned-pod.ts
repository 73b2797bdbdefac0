import { dependsOnAnnotation } from '../../../src/api/values/depends-on.ts';
import type { Pod } from '../../../src/api/types.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';

/** What a pod asks for, and the pods it waits for by their place in the list. */
export interface PodPlan {
  cpu: number;
  hostPort: number;
  priority: number;
  after: readonly number[];
}

export function podOf({ cpu, hostPort, priority, after }: PodPlan, nth: number): Pod {
  const container = makeContainer({
    resources: { requests: { cpu: String(cpu) } },
    ...(hostPort > 0 && { ports: [{ containerPort: 80, hostPort }] }),
  });
  const annotations = {
    'kubernetes.io/config.source': 'file',
    ...(after.length > 0 && { [dependsOnAnnotation]: after.map((other) => `p${other}`).join() }),
  };
  return makePod({
    metadata: { uid: `p${nth}`, name: `p${nth}-node1`, annotations },
    spec: { nodeName: 'node1', priority, containers: [container] },
  });
}

export const cpuOf = ({ spec }: Pod): number => Number(spec.containers[0]?.resources?.requests?.['cpu'] ?? 0);

export const portsOf = ({ spec }: Pod): number[] =>
  (spec.containers[0]?.ports ?? []).map(({ hostPort = 0 }) => hostPort);

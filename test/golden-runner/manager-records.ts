import type { Pod } from '../../src/api/types.ts';
import type { AffinityStore } from '../../src/engine/container-manager/topology-manager/affinity-store.ts';
import { bitMask, nodesOf } from '../../src/engine/container-manager/topology-manager/bit-mask.ts';
import type { TopologyHint } from '../../src/engine/container-manager/topology-manager/topology-hint.ts';

/** A hint in the tables of the managers; nodes null is any node. */
export interface RecordedHint {
  nodes: number[] | null;
  preferred: boolean;
}

export function readHint({ nodes, preferred }: RecordedHint): TopologyHint {
  return { affinity: nodes === null ? undefined : bitMask(nodes), preferred };
}

function recordedHint({ affinity, preferred }: TopologyHint): RecordedHint {
  return { nodes: affinity === undefined ? null : nodesOf(affinity), preferred };
}

/** The affinity of each container. */
export function recordedAffinities(store: AffinityStore, { metadata, spec }: Pod): Record<string, RecordedHint> {
  const names = [...(spec.initContainers ?? []), ...spec.containers].map(({ name }) => name);
  return Object.fromEntries(names.map((name) => [name, recordedHint(store.affinityOf(metadata.uid, name))]));
}

/** The pods of a case. Its steps give a pod whole the first time, then by its UID. */
export function recordedPods(): { named: (pod: Pod | string) => Pod } {
  const byUID = new Map<string, Pod>();
  return {
    named: (pod) => {
      if (typeof pod !== 'string') {
        byUID.set(pod.metadata.uid, pod);
        return pod;
      }
      const known = byUID.get(pod);
      if (known === undefined) throw new Error(`The case names no pod ${pod} before`);
      return known;
    },
  };
}

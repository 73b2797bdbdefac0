import type { Pod } from '../../src/api/types.ts';
import type { AffinityStore } from '../../src/engine/container-manager/topology-manager/affinity-store.ts';
import { bitMask, nodesOf } from '../../src/engine/container-manager/topology-manager/bit-mask.ts';
import type { HintProvider } from '../../src/engine/container-manager/topology-manager/hint-provider.ts';
import type { StateFile } from '../../src/engine/container-manager/checkpoint/state-file.ts';
import type { ResourceHints, TopologyHint } from '../../src/engine/container-manager/topology-manager/topology-hint.ts';

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

/** A state file of a manager, with the content that it had before the start. */
export class RecordedStateFile implements StateFile {
  readonly path: string;
  /** Undefined: there is no file. */
  written: string | undefined;

  constructor(name: string, content: string | undefined) {
    this.path = `{root}/${name}`;
    this.written = content;
  }

  get content(): string | undefined {
    return this.written;
  }

  write(content: string): void {
    this.written = content;
  }
}

/** The hints of a manager for a pod and each of its containers; null is no hints. */
export function recordedResourceHints(provider: HintProvider, pod: Pod): object {
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  return {
    pod: recordedHints(provider.podHints(pod)),
    containers: Object.fromEntries(containers.map((one) => [one.name, recordedHints(provider.hints(pod, one))])),
  };
}

function recordedHints(hints: ResourceHints | undefined): object | null {
  if (hints === undefined) return null;
  return Object.fromEntries([...hints].map(([name, list]) => [name, list?.map(recordedHint) ?? null]));
}

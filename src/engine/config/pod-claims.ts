import type { Pod } from '../../api/types.ts';
import { podFullName } from '../../api/values/pod-names.ts';

/** What a source has of what it declares. */
export interface Granted {
  pods: Pod[];
  refused: RefusedPod[];
}

/** A pod with the name or the UID of one that another source has. */
export interface RefusedPod {
  pod: Pod;
  field: 'metadata.name' | 'metadata.uid';
  /** Id of the source that has it. */
  owner: string;
}

/**
 * Of two sources that declare one pod, the first one has it, until it declares it no more; so that what one source says
 * takes no pod from another. The kubelet lets both have it, and stops it when either lets go.
 */
export class PodClaims {
  /** By id of the source. */
  private readonly lists = new Map<string, readonly Pod[]>();
  /** Ids of sources that do not have all that they declare. */
  private readonly lacking = new Set<string>();
  /** Ids of sources by name or UID of a pod. */
  private readonly owners = new Map<string, string>();

  /** Takes all that a source declares. Returns what it has of that, and what other sources have now that lacked something. */
  replace(id: string, pods: readonly Pod[]): Map<string, Granted> {
    this.lists.set(id, pods);
    const keys = new Set(pods.flatMap((pod) => keysOf(pod).map(([key]) => key)));
    for (const [key, owner] of this.owners) if (owner === id && !keys.has(key)) this.owners.delete(key);
    const concerned = new Set([id, ...this.lacking]);
    return new Map([...concerned].map((source) => [source, this.grant(source)]));
  }

  private grant(id: string): Granted {
    const granted: Granted = { pods: [], refused: [] };
    for (const pod of this.lists.get(id) ?? []) {
      const keys = keysOf(pod);
      const taken = keys.find(([key]) => (this.owners.get(key) ?? id) !== id);
      if (taken === undefined) {
        for (const [key] of keys) this.owners.set(key, id);
        granted.pods.push(pod);
      } else {
        const [key, field] = taken;
        granted.refused.push({ pod, field, owner: this.owners.get(key) ?? '' });
      }
    }
    if (granted.refused.length > 0) this.lacking.add(id);
    else this.lacking.delete(id);
    return granted;
  }
}

function keysOf(pod: Pod): [key: string, field: RefusedPod['field']][] {
  return [
    [`name ${podFullName(pod)}`, 'metadata.name'],
    [`uid ${pod.metadata.uid}`, 'metadata.uid'],
  ];
}

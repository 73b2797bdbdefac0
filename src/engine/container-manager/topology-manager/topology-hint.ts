import type { BitMask } from './bit-mask.ts';

/** A set of nodes from which a resource can be allocated. kubelet: topologymanager/topology_manager.go TopologyHint */
export interface TopologyHint {
  /** Undefined means any node. */
  readonly affinity: BitMask | undefined;
  /** True if fewer nodes could not hold the request. */
  readonly preferred: boolean;
}

/**
 * Hints by resource, such as `cpu`. Undefined means no preference. An empty list means the resource cannot be
 * allocated.
 */
export type ResourceHints = ReadonlyMap<string, readonly TopologyHint[] | undefined>;

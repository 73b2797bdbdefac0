import type { BitMask } from './bit-mask.ts';

/** Nodes from which a resource can be allocated. kubelet: topologymanager/topology_manager.go TopologyHint */
export interface TopologyHint {
  /** Undefined: any node. */
  readonly affinity: BitMask | undefined;
  /** True if fewer nodes could not hold the request. */
  readonly preferred: boolean;
}

/**
 * Hints by resource, such as `cpu`. A resource with undefined has no preference. One with an empty list cannot be
 * allocated at all.
 */
export type ResourceHints = ReadonlyMap<string, readonly TopologyHint[] | undefined>;

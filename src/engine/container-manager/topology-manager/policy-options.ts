import { parseGoBool, parseGoInt } from '../../../api/values/go-numbers.ts';
import { explained } from '../../../errors.ts';

/** kubelet: topologymanager/policy_options.go PolicyOptions */
export interface TopologyPolicyOptions {
  /** If true, prefers closer nodes among sets of the same size. */
  preferClosestNUMA: boolean;
  /** Machines with more nodes are rejected, because each node doubles the effort. */
  maxAllowableNUMANodes: number;
}

const defaultMaxAllowableNUMANodes = 8;
const preferClosest = 'prefer-closest-numa-nodes';
const maxAllowable = 'max-allowable-numa-nodes';

/**
 * Parses topologyManagerPolicyOptions. Throws an `Error` if an option or value is unknown. kubelet:
 * topologymanager/policy_options.go NewPolicyOptions
 */
export function topologyPolicyOptions(options: Readonly<Record<string, string>>): TopologyPolicyOptions {
  const read = { preferClosestNUMA: false, maxAllowableNUMANodes: defaultMaxAllowableNUMANodes };
  for (const [name, value] of Object.entries(options)) {
    switch (name) {
      case preferClosest:
        read.preferClosestNUMA = explained(`bad value for option "${name}"`, () => parseGoBool(value));
        break;
      case maxAllowable:
        read.maxAllowableNUMANodes = maxNodes(value);
        break;
      default:
        throw new Error(`unknown Topology Manager Policy option: "${name}"`);
    }
  }
  return read;
}

function maxNodes(value: string): number {
  const nodes = explained(`unable to convert policy option to integer "${maxAllowable}"`, () => parseGoInt(value));
  if (nodes >= defaultMaxAllowableNUMANodes) return nodes;
  throw new Error(`the minimum value of "${maxAllowable}" should not be less than ${defaultMaxAllowableNUMANodes}`);
}

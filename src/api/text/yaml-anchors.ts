import { ManifestLimitError, type ManifestNode, ManifestSyntaxError, maxNestingDepth } from './manifest-node.ts';
import type { ReadingBudget } from './reading-budget.ts';

/** A value with an anchor. `node` is absent while the value is being read. */
export interface AnchoredValue {
  node?: ManifestNode;
  /** Number of values inside, with aliases counted as copies. */
  size: number;
  /** Levels of nesting below it. */
  height: number;
}

/**
 * Tracks the anchors of a document. An alias returns the same node as its anchor but counts as a copy, because a walk
 * over the document meets every copy. The limits are those of the kubelet.
 *
 * goyaml.v2: decode.go allowedAliasRatio
 */
export class YamlAnchors {
  private readonly values = new Map<string, AnchoredValue>();
  private nodesRead = 0;
  private aliasedNodesRead = 0;
  private deepest = 0;

  constructor(private readonly budget: ReadingBudget) {}

  /** Counts a value. `depth` is its level of nesting. */
  count(start: number, depth: number): void {
    this.nodesRead++;
    this.budget.countValues(1, start);
    this.reach(start, depth);
  }

  /** Reads a value with an anchor. An alias inside the value cannot refer to it. */
  anchored(name: string, depth: number, read: () => ManifestNode): ManifestNode {
    const value: AnchoredValue = { size: 0, height: 0 };
    this.values.set(name, value);
    const nodesBefore = this.nodesRead;
    const deepestBefore = this.deepest;
    this.deepest = depth;
    value.node = read();
    value.size = this.nodesRead - nodesBefore;
    value.height = this.deepest - depth;
    this.deepest = Math.max(this.deepest, deepestBefore);
    return value.node;
  }

  /** The node that an alias at `start` stands for. Errors leave out the name, because it may be a secret. */
  resolve(name: string, start: number, depth: number): ManifestNode {
    const value = this.values.get(name);
    if (!value) throw new ManifestSyntaxError('The anchor is not defined above', start);
    if (!value.node) throw new ManifestSyntaxError('The anchor contains itself', start);
    this.nodesRead += value.size;
    this.aliasedNodesRead += value.size;
    this.reach(start, depth + value.height);
    this.refuseExcess(start);
    this.budget.countValues(value.size, start);
    return value.node;
  }

  private reach(start: number, depth: number): void {
    if (depth > maxNestingDepth) throw new ManifestLimitError('YAML is nested too deeply', start);
    this.deepest = Math.max(this.deepest, depth);
  }

  private refuseExcess(start: number): void {
    if (this.aliasedNodesRead <= 100 || this.nodesRead <= 1000) return;
    const position = Math.min(1, Math.max(0, (this.nodesRead - 400_000) / 3_600_000));
    if (this.aliasedNodesRead / this.nodesRead > 0.99 - 0.89 * position) {
      throw new ManifestLimitError('The document uses anchors excessively', start, 'Write the values out.');
    }
  }
}

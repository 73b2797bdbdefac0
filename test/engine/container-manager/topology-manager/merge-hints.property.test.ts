import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bitMask, includesMask, masksOf } from '../../../../src/engine/container-manager/topology-manager/bit-mask.ts';
import { hintLists, mergeHints } from '../../../../src/engine/container-manager/topology-manager/merge-hints.ts';
import { narrowest } from '../../../../src/engine/container-manager/topology-manager/numa-info.ts';
import type { TopologyHint } from '../../../../src/engine/container-manager/topology-manager/topology-hint.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

const nodes = [0, 1, 2, 3];
const allNodes = bitMask(nodes);
const masks = [...masksOf(nodes)];
const hint = fc.record<TopologyHint>({
  affinity: fc.option(fc.constantFrom(...masks), { nil: undefined, freq: 8 }),
  preferred: fc.boolean(),
});
const lists = fc.array(fc.array(hint, { minLength: 1, maxLength: 5 }), { maxLength: 4 });
const merge = { allNodes, isBetter: narrowest };

test('a preferred merge is a hint that every resource prefers, and no narrower one is', () => {
  fc.assert(
    fc.property(lists, (all) => {
      const merged = mergeHints(all, merge);
      const shared = masks.filter((mask) =>
        all.every((list) =>
          list.some(({ affinity, preferred }) => preferred && (affinity === undefined || affinity === mask)),
        ),
      );
      // Resources without a choice of their own take all nodes, unless another one chose.
      const isChosen = (mask: bigint): boolean =>
        mask === allNodes || all.some((list) => list.some(({ affinity, preferred }) => preferred && affinity === mask));
      const best = shared.filter(isChosen).toSorted((one, other) => (narrowest(one, other) ? -1 : 1))[0];
      expect(merged.preferred ? merged.affinity : undefined).toEqual(best);
    }),
    propertyRuns(300),
  );
});

test('a merge never leaves the nodes of the machine', () => {
  fc.assert(
    fc.property(lists, (all) => {
      const { affinity } = mergeHints(all, { ...merge, allNodes: bitMask([0, 1]) });
      expect(affinity !== 0n && includesMask(bitMask([0, 1]), affinity)).toBe(true);
    }),
    propertyRuns(300),
  );
});

test('four resources with every choice on eight nodes are merged at once, though they have 4 billion combinations', () => {
  const every = [...masksOf([0, 1, 2, 3, 4, 5, 6, 7])].map((affinity) => ({ affinity, preferred: false }));
  const hints = new Map(['cpu', 'memory', 'hugepages-2Mi', 'hugepages-1Gi'].map((resource) => [resource, every]));
  const merged = mergeHints(hintLists([hints]), { allNodes: bitMask([0, 1, 2, 3, 4, 5, 6, 7]), isBetter: narrowest });
  expect(merged).toMatchObject({ affinity: bitMask([0]), preferred: false });
});

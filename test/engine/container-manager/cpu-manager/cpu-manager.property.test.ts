import fc from 'fast-check';
import { testModel } from '../../../support/model-check.ts';
import { type ContainerPlan, CPUManagerModel, type NodePlan } from './cpu-manager-model.ts';

const anyOptions = fc.constantFrom<Record<string, string>>(
  {},
  { 'full-pcpus-only': 'true' },
  { 'distribute-cpus-across-numa': 'true' },
  { 'distribute-cpus-across-numa': 'true', 'full-pcpus-only': 'true' },
  { 'distribute-cpus-across-cores': 'true' },
  { 'prefer-align-cpus-by-uncorecache': 'true' },
  { 'strict-cpu-reservation': 'true' },
  { 'align-by-socket': 'true' },
);

const anyContainer: fc.Arbitrary<ContainerPlan> = fc.record({
  kind: fc.constantFrom('regular', 'regular', 'init', 'sidecar'),
  cpu: fc.constantFrom('500m', '1', '1', '2', '3', '4'),
});

/** Cores of all nodes have as many threads, or each its own number. */
const anyNodes = fc.oneof(
  fc
    .tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 }))
    .map(([nodes, cores, threads]) =>
      Array.from({ length: nodes }, () => Array.from({ length: cores }, () => threads)),
    ),
  fc.array(fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
);

const anyPlan: fc.Arbitrary<NodePlan> = fc.record({
  nodes: anyNodes,
  nodesPerSocket: fc.integer({ min: 1, max: 3 }),
  options: anyOptions,
  reserved: fc.constant(1),
  topologyPolicy: fc.constantFrom('none', 'none', 'best-effort', 'restricted'),
  pods: fc.array(fc.array(anyContainer, { minLength: 1, maxLength: 4 }), { minLength: 5, maxLength: 5 }),
});

const nth = fc.nat(4);

testModel(
  'however pods come, run and end, each CPU belongs to one pod or is shared, and containers run where they should',
  {
    setUp: anyPlan,
    open: (plan: NodePlan) => new CPUManagerModel(plan),
    steps: {
      admit: [5, nth],
      run: [4, nth, fc.nat(3)],
      end: [2, nth],
      reconcile: [2],
      restart: [1],
      setSourcesReady: [1, fc.boolean()],
      setRuntimeFails: [1, fc.boolean()],
    },
    maxSteps: 40,
    runs: 200,
    afterStep(model) {
      model.check();
    },
    finish: (model) => model.settle(),
  },
);

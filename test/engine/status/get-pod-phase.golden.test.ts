import { expect, test } from 'vitest';
import type { ContainerStatus, PodSpec } from '../../../src/api/types.ts';
import { getPodPhase } from '../../../src/engine/status/get-pod-phase.ts';
import { loadTable } from '../../golden-tables.ts';

interface In {
  spec: PodSpec;
  statuses: ContainerStatus[];
  podIsTerminal: boolean;
}

test.each(loadTable<In, object>('pod-phase'))(
  'pod phase, case %#',
  ({ in: { spec, statuses, podIsTerminal }, out }) => {
    expect({ phase: getPodPhase({ spec }, statuses, podIsTerminal) }).toEqual(out);
  },
);

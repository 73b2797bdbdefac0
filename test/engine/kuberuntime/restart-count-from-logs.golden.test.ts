import { expect, test } from 'vitest';
import { restartCountFromLogFiles } from '../../../src/engine/kuberuntime/restart-count-from-logs.ts';
import { loadTable } from '../../golden-tables.ts';

interface In {
  exists: boolean;
  files?: string[];
}
interface Out {
  ok: boolean;
  restartCount?: number;
}

test.each(loadTable<In, Out>('restart-count-from-logs'))('restart count from logs, case %#', ({ in: input, out }) => {
  const restartCount = restartCountFromLogFiles(input.files ?? []);
  expect(restartCount).toBe(out.ok ? out.restartCount : undefined);
});

import { expect, test } from 'vitest';
import { loadCorpus } from './corpus.ts';
import { findFault, loadCase, makeCase } from './fuzz-case.ts';

test('gives a pod or errors with their places for 2000 broken manifests', { timeout: 120_000 }, () => {
  const corpus = loadCorpus(new URL('../../', import.meta.url));
  const faults: { number: number; fault: string }[] = [];
  for (let number = 0; number < 2000; number++) {
    const bytes = makeCase(corpus, 1, number);
    const fault = findFault(loadCase(bytes), bytes);
    if (fault !== undefined) faults.push({ number, fault });
  }
  expect(faults).toEqual([]);
});

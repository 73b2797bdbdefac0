import { expect, test } from 'vitest';
import { loadCorpus } from './corpus.ts';
import { findFault, findFaultOfFirst, loadCase, makeCase } from './fuzz-case.ts';
import { hostileTexts } from './hostile-texts.ts';

test('gives what is declared, or errors with their places, for 300 broken manifests', () => {
  const corpus = loadCorpus(new URL('../../', import.meta.url));
  const faults: { number: number; fault: string }[] = [];
  for (let number = 0; number < 300; number++) {
    const bytes = makeCase(corpus, 1, number);
    const fault = findFault(loadCase(bytes), bytes) ?? findFaultOfFirst(bytes);
    if (fault !== undefined) faults.push({ number, fault });
  }
  expect(faults).toEqual([]);
});

test.each(Object.entries(hostileTexts))('reads %s without a fault', (_what, make) => {
  const bytes = Buffer.from(make(8 * 1024));
  expect([findFault(loadCase(bytes), bytes), findFaultOfFirst(bytes)]).toEqual([undefined, undefined]);
});

import { Script } from 'node:vm';
import { expect, test } from 'vitest';

const url = new URL('../../scripts/package/eager-functions.mjs', import.meta.url).href;
const { eagerFunctions } = (await import(url)) as { eagerFunctions: (text: string) => string };

const text = `'use strict';
const sum = twice(2) + [1, 2].map((one) => one + 1).length;
function twice(number) {
  return add(number, number);
  function add(a, b) { return a + b; }
}
({ sum, ofThis: twice.name });`;

test('a script does the same with functions in brackets, also those called before they are declared', () => {
  expect(new Script(eagerFunctions(text)).runInThisContext()).toEqual({ sum: 6, ofThis: 'twice' });
});

test('the compiled code has all functions', () => {
  const bytes = (script: string): number => new Script(script, { produceCachedData: true }).cachedData?.length ?? 0;
  const many = 'function unused() { '.repeat(20) + 'return [1, 2, 3, 4, 5].join();' + ' }'.repeat(20);
  expect(bytes(eagerFunctions(many))).toBeGreaterThan(2 * bytes(many));
});

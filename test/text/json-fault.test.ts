import { expect, test } from 'vitest';
import { jsonFault } from '../../src/text/json-fault.ts';

test.each([
  ['{"a": 1}', undefined],
  ['{\n  "a": 1\n  "b": 2\n}', /^line 3, column 3: /],
  ['{\n  "a": ', /^line 2, column 8: Unexpected end/],
])('finds the fault in %j', (text, expected) => {
  if (expected === undefined) expect(jsonFault(text)).toBeUndefined();
  else expect(jsonFault(text)).toMatch(expected);
});

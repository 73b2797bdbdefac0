import { expect, test } from 'vitest';
import { goJSONError } from '../../../../src/engine/container-manager/checkpoint/go-json-error.ts';

const texts = [
  ['', 'unexpected end of JSON input'],
  ['{"a":', 'unexpected end of JSON input'],
  ['"a', 'unexpected end of JSON input'],
  ['x', "invalid character 'x' looking for beginning of value"],
  ['{a', "invalid character 'a' looking for beginning of object key string"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 "b"}', `invalid character '"' after object key:value pair`],
  ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
  ['[1 2]', "invalid character '2' after array element"],
  ['[1,]', "invalid character ']' looking for beginning of value"],
  ['{} {}', "invalid character '{' after top-level value"],
  ['nul1', "invalid character '1' in literal null (expecting 'l')"],
  ['-x', "invalid character 'x' in numeric literal"],
  ['01', "invalid character '1' after top-level value"],
  ['1.x', "invalid character 'x' after decimal point in numeric literal"],
  ['1ex', "invalid character 'x' in exponent of numeric literal"],
  [String.raw`"\x"`, "invalid character 'x' in string escape code"],
  [String.raw`"\u00g0"`, String.raw`invalid character 'g' in \u hexadecimal character escape`],
  ['"\n"', String.raw`invalid character '\n' in string literal`],
  ["'", String.raw`invalid character '\'' looking for beginning of value`],
  ['\u0000', String.raw`invalid character '\x00' looking for beginning of value`],
  ['é', "invalid character 'Ã' looking for beginning of value"],
  ['['.repeat(100_000), 'exceeded max depth'],
] as const;

test.each(texts)('the text %j is no JSON, as Go says it', (text, message) => {
  expect(goJSONError(text)).toBe(message);
});

test.each(['{}', ' [1, -2.5e+3, "a\\u00e9\\n", true, null] ', '{"a": {"b": []}}', '0'])(
  'the text %j is JSON',
  (text) => {
    expect(goJSONError(text)).toBeUndefined();
  },
);

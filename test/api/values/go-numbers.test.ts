import { expect, test } from 'vitest';
import { parseGoBool, parseGoInt, parseInt64 } from '../../../src/api/values/go-numbers.ts';
import { errorMessage } from '../../../src/errors.ts';

function resultOf<T>(parse: () => T): T | string {
  try {
    return parse();
  } catch (error) {
    return errorMessage(error);
  }
}

test.each([
  ['8', 8],
  ['+08', 8],
  ['-3', -3],
  ['', 'strconv.Atoi: parsing "": invalid syntax'],
  ['1_0', 'strconv.Atoi: parsing "1_0": invalid syntax'],
  ['0x1', 'strconv.Atoi: parsing "0x1": invalid syntax'],
  ['9223372036854775808', 'strconv.Atoi: parsing "9223372036854775808": value out of range'],
])('the integer of "%s" is %j', (text, expected) => {
  expect(resultOf(() => parseGoInt(text))).toBe(expected);
});

test.each([
  ['+08', 8n],
  ['-9223372036854775808', -(2n ** 63n)],
  ['9223372036854775807', 2n ** 63n - 1n],
  ['9223372036854775808', 'value out of range'],
  ['-9223372036854775809', 'value out of range'],
  ['', 'invalid syntax'],
  ['1.5', 'invalid syntax'],
  ['+-1', 'invalid syntax'],
])('the integer of 64 bits of "%s" is %s', (text, expected) => {
  expect(parseInt64(text)).toBe(expected);
});

test.each([
  ['true', true],
  ['T', true],
  ['0', false],
  ['yes', 'strconv.ParseBool: parsing "yes": invalid syntax'],
])('the truth value of "%s" is %j', (text, expected) => {
  expect(resultOf(() => parseGoBool(text))).toBe(expected);
});

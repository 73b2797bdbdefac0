import { expect, test } from 'vitest';
import { parseGoBool, parseGoInt } from '../../../src/api/values/go-numbers.ts';
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
  ['true', true],
  ['T', true],
  ['0', false],
  ['yes', 'strconv.ParseBool: parsing "yes": invalid syntax'],
])('the truth value of "%s" is %j', (text, expected) => {
  expect(resultOf(() => parseGoBool(text))).toBe(expected);
});

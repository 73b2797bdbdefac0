import { expect, test } from 'vitest';
import { Members, NumberLiteral, readGoJSON } from '../../../../src/engine/container-manager/checkpoint/go-json.ts';

test('a text is read with the literals of its numbers and all its members', () => {
  const text = String.raw` { "a\"b\\" : [ 1e3 , -1.0,18446744073709551616 ] ,"": {}, "a": true, "a":false,"n":null, "\u00e9": "{[,:"} `;
  expect(readGoJSON(text)).toEqual(
    new Members([
      [String.raw`a"b` + '\\', ['1e3', '-1.0', '18446744073709551616'].map((number) => new NumberLiteral(number))],
      ['', new Members([])],
      ['a', true],
      ['a', false],
      ['n', null],
      ['é', '{[,:'],
    ]),
  );
});

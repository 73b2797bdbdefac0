import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { emptyRow, rowChange, rowOf } from '../../src/tui/row.ts';
import { FakeStdout } from './fake-terminal.ts';

const styled = (text: string, style: string) => (style === '' ? text : `\u001b[${style}m${text}\u001b[0m`);

test('a row has the same row as its text', () => {
  const row = rowOf('\u001b[1mapp\u001b[22m \u001b[31mError\u001b[39m');
  expect(rowOf(row.text)).toEqual(row);
});

describe('a row that changes', () => {
  test.each([
    ['is not written if it is the same', rowOf('app 12s'), rowOf('app 12s  '), ''],
    ['is written once on an empty line', emptyRow, rowOf('app'), '\u001b[3;1Happ'],
    ['has only its new cells written', rowOf('app-1 Running 12s'), rowOf('app-1 Running 13s'), '\u001b[3;16H3'],
    ['has near changes written at once', rowOf('12m 34s'), rowOf('13m 35s'), '\u001b[3;2H3m 35'],
    [
      'has far changes written one by one',
      rowOf('1 is far away from 2'),
      rowOf('3 is far away from 4'),
      '\u001b[3;1H3\u001b[3;20H4',
    ],
    ['is erased after its new end', rowOf('a longer text'), rowOf('a'), '\u001b[3;2H\u001b[K'],
    [
      'has no style after it',
      rowOf('Running'),
      rowOf(styled('Error', '1;31')),
      '\u001b[3;1H\u001b[;1;31mError\u001b[m\u001b[K',
    ],
    ['is written if only its style is new', rowOf(styled('Ok', '32')), rowOf('Ok'), '\u001b[3;1HOk'],
    ['is whole if a character may be wide', rowOf('name: x'), rowOf('name: 日'), '\u001b[3;1H\u001b[Kname: 日'],
    ['is whole if a character was wide', rowOf('name: 日'), rowOf('name: x'), '\u001b[3;1H\u001b[Kname: x'],
  ])('%s', (_title, before, after, expected) => {
    expect(rowChange(3, before, after)).toBe(expected);
  });
});

test('the terminal always has the newest row', () => {
  const piece = fc.tuple(
    fc.constantFrom('', ' ', 'a', 'bb', '      ', '│▁…', '日本', 'e\u0301'),
    fc.constantFrom('', '7', '1;31'),
  );
  const row = fc
    .array(piece, { maxLength: 8 })
    .map((pieces) => pieces.map((pair) => styled(...pair)).join(''))
    .map(rowOf);
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 5 }), (rows) => {
      const stdout = new FakeStdout(80, 1);
      for (const [index, after] of rows.entries()) stdout.write(rowChange(1, rows[index - 1] ?? emptyRow, after));
      const shown = rows
        .at(-1)
        ?.runs.map(({ text }) => text)
        .join('')
        .trimEnd();
      expect(stdout.screen()).toEqual([shown]);
    }),
  );
});

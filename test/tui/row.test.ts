import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { emptyRow, rowChange, rowOf } from '../../src/tui/row.ts';
import { FakeStdout } from './fake-terminal.ts';

const plain = (text: string) => rowOf([{ text, style: '' }]);
const runs = (...pairs: readonly (readonly [text: string, style: string])[]) =>
  rowOf(pairs.map(([text, style]) => ({ text, style })));

describe('a row that changes', () => {
  test.each([
    ['is not written if it is the same', plain('app 12s'), plain('app 12s  '), ''],
    ['is written once on an empty line', emptyRow, plain('app'), '\u001b[3;1Happ'],
    ['has only its new cells written', plain('app-1 Running 12s'), plain('app-1 Running 13s'), '\u001b[3;16H3'],
    ['has near changes written at once', plain('12m 34s'), plain('13m 35s'), '\u001b[3;2H3m 35'],
    [
      'has far changes written one by one',
      plain('1 is far away from 2'),
      plain('3 is far away from 4'),
      '\u001b[3;1H3\u001b[3;20H4',
    ],
    ['is erased after its new end', plain('a longer text'), plain('a'), '\u001b[3;2H\u001b[K'],
    [
      'has no style after it',
      plain('Running'),
      runs(['Error', '1;31']),
      '\u001b[3;1H\u001b[;1;31mError\u001b[m\u001b[K',
    ],
    ['is written if only its style is new', runs(['Ok', '32']), plain('Ok'), '\u001b[3;1HOk'],
    ['is whole if a character may be wide', plain('name: x'), plain('name: 日'), '\u001b[3;1H\u001b[Kname: 日'],
    ['is whole if a character was wide', plain('name: 日'), plain('name: x'), '\u001b[3;1H\u001b[Kname: x'],
  ])('%s', (_title, before, after, expected) => {
    expect(rowChange(3, before, after)).toBe(expected);
  });
});

test('the terminal always has the newest row', () => {
  const piece = fc.tuple(
    fc.constantFrom('', ' ', 'a', 'bb', '      ', '│▁…', '日本', 'e\u0301'),
    fc.constantFrom('', '7', '1;31'),
  );
  const row = fc.array(piece, { maxLength: 8 }).map((pieces) => runs(...pieces));
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

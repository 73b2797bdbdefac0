import { describe, expect, test } from 'vitest';
import { styleLine, textLine } from '../../src/tui/line.ts';
import { paletteOf } from '../../src/tui/theme.ts';

const palette = paletteOf('dark', { hasColors: () => true });

describe('the text of a line', () => {
  test('ends at the width, across the spans', () => {
    const line = { spans: [{ text: 'abc' }, { text: 'def' }, { text: 'ghi' }] };
    expect(styleLine(line, 5, palette)).toBe('abcd…');
  });

  test('has colors only where there are some', () => {
    const line = textLine('Error', { color: 'red', bold: true });
    expect([styleLine(line, 9, palette), styleLine(line, 9, undefined)]).toEqual([
      '\u001b[1;31mError\u001b[0m',
      '\u001b[1mError\u001b[0m',
    ]);
  });

  test('is inverse over the whole width for a selected line', () => {
    expect(styleLine({ ...textLine('ab', { color: 'red' }), selected: true }, 4, palette)).toBe(
      '\u001b[7mab\u001b[0m\u001b[7m  \u001b[0m',
    );
  });
});

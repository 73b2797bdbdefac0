import { describe, expect, test } from 'vitest';
import { displayWidth, fitToWidth, printable, truncateToWidth } from '../../src/tui/display-width.ts';
import { styleLine, textLine } from '../../src/tui/line.ts';
import { paletteOf } from '../../src/tui/theme.ts';

describe('widths', () => {
  test.each([
    ['etcd', 4],
    ['日本語', 6],
    ['naïve', 5],
    ['e\u0301', 1],
    ['🚀', 2],
    ['👩‍🚀', 2],
  ])('%s takes %i columns', (text, expected) => {
    expect(displayWidth(text)).toBe(expected);
  });

  test.each([
    ['etcd-edge1', 10, 'etcd-edge1'],
    ['etcd-edge1', 6, 'etcd-…'],
    ['日本語', 5, '日本…'],
    ['日本語', 4, '日…'],
    ['etcd', 0, ''],
  ])('%s is cut to %i columns as %s', (text, width, expected) => {
    expect(truncateToWidth(text, width)).toBe(expected);
  });

  test('fills with blanks by what the terminal shows', () => {
    expect([fitToWidth('日本語', 8), fitToWidth('日本語', 4)]).toEqual(['日本語  ', '日… ']);
  });

  test('makes one harmless line of any text', () => {
    expect(printable('a\r\nb\tc \u001b[2Jd\u202ee')).toBe(String.raw`a b c \x1b[2Jd\u202ee`);
  });
});

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

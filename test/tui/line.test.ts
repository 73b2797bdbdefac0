import { describe, expect, test } from 'vitest';
import { displayWidth, fitToWidth, printable, truncateToWidth } from '../../src/tui/display-width.ts';
import { styledRuns, textLine } from '../../src/tui/line.ts';
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

describe('the runs of a line', () => {
  test('end at the width, across the spans', () => {
    const line = { spans: [{ text: 'abc' }, { text: 'def' }, { text: 'ghi' }] };
    expect(styledRuns(line, 5, palette)).toEqual([
      { text: 'abc', style: '' },
      { text: 'd…', style: '' },
    ]);
  });

  test('have colors only where there are some', () => {
    const line = textLine('Error', { color: 'red', bold: true });
    expect([styledRuns(line, 9, palette), styledRuns(line, 9, undefined)]).toEqual([
      [{ text: 'Error', style: '1;31' }],
      [{ text: 'Error', style: '1' }],
    ]);
  });

  test('are inverse over the whole width for a selected line', () => {
    expect(styledRuns({ ...textLine('ab', { color: 'red' }), selected: true }, 4, palette)).toEqual([
      { text: 'ab', style: '7' },
      { text: '  ', style: '7' },
    ]);
  });
});

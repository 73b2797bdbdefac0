import { describe, expect, test } from 'vitest';
import { displayWidth, fitToWidth, truncateToWidth } from '../../src/text/display-width.ts';

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
});

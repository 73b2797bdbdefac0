import { describe, expect, test } from 'vitest';
import { formatTable } from '../../src/text/format-table.ts';

describe('a table', () => {
  test('has aligned columns and no space at the end of a line', async () => {
    const rows = [
      ['NAME', 'READY', 'NOTE'],
      ['web-edge1', '1/1', ''],
      ['größe', '0/1', 'x y'],
    ];
    expect(await formatTable(rows)).toBe('NAME        READY   NOTE\nweb-edge1   1/1\ngröße       0/1     x y\n');
  });

  test('has aligned columns with wide and combined characters', async () => {
    const rows = [
      ['日本', 'a'],
      ['e\u0301', 'b'],
      ['web-1', 'c'],
    ];
    expect(await formatTable(rows)).toBe('日本    a\ne\u0301       b\nweb-1   c\n');
  });

  test('has its last column cut to the width of the terminal', async () => {
    const rows = [
      ['NAME', 'REASON'],
      ['web-edge1', 'its registry has no image ngnix:1.27'],
    ];
    const text = await formatTable(rows, { maxWidth: 32 });
    expect(text).toBe('NAME        REASON\nweb-edge1   its registry has no…\n');
    expect(text.split('\n').every((line) => line.length <= 32)).toBe(true);
  });

  test('has a last column of wide letters cut between two of them', async () => {
    const text = await formatTable([['db', '日本語の理由がここにあります']], { maxWidth: 22 });
    expect(text).toBe('db   日本語の理由がこ…\n');
  });

  test('has aligned columns where all characters are ASCII', async () => {
    const rows = [
      ['NAME', '', 'AGE'],
      ['web-edge1', '', '5m'],
      ['db', 'x', '12d'],
    ];
    expect(await formatTable(rows)).toBe('NAME            AGE\nweb-edge1       5m\ndb          x   12d\n');
  });
});

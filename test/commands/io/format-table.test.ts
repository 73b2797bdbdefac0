import { describe, expect, test } from 'vitest';
import { formatTable } from '../../../src/commands/io/format-table.ts';

describe('a table', () => {
  test('has aligned columns and no space at the end of a line', () => {
    const rows = [
      ['NAME', 'READY', 'NOTE'],
      ['web-edge1', '1/1', ''],
      ['größe', '0/1', 'x y'],
    ];
    expect(formatTable(rows)).toBe('NAME        READY   NOTE\nweb-edge1   1/1\ngröße       0/1     x y\n');
  });
});

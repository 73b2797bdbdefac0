import { readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';

test('docs/internals/architecture.md says of every folder of src what it holds', () => {
  const page = readFileSync('docs/internals/architecture.md', 'utf8');
  const table = page.slice(page.indexOf('\n## Rooms\n'));
  const named = Array.from(table.matchAll(/^\| `([^`]+)`/gm), ([, room = '']) => room);
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((path) => /\.tsx?$/.test(path));
  const rooms = new Set(
    files.map((path) => dirname(path)).filter((room) => !room.endsWith('generated') && !room.includes('generated/')),
  );
  expect(named.map((room) => (room === 'src' ? '.' : room)).sort()).toEqual([...rooms].sort());
});

import { readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';

test('docs/internals/architecture.md describes every folder of src', () => {
  const page = readFileSync('docs/internals/architecture.md', 'utf8');
  const table = page.slice(page.indexOf('\n## Every folder of src\n'));
  const named = Array.from(table.matchAll(/^\| `([^`]+)`/gm), ([, folder = '']) => folder);
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((path) => /\.tsx?$/.test(path));
  const folders = new Set(files.map((path) => dirname(path)).filter((folder) => !/generated(\/|$)/.test(folder)));
  expect(named.map((folder) => (folder === 'src' ? '.' : folder)).sort()).toEqual([...folders].sort());
});

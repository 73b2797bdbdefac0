import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const { printWidth } = JSON.parse(readFileSync(join(root, '.prettierrc.json'), 'utf8')) as { printWidth: number };

// A test, because prettier wraps code but not comments.
test('no comment is wider than code may be', () => {
  const isOurs = (path: string): boolean =>
    /\.(?:tsx?|mjs)$|\/scripts\/[^.]+$/.test(path) && !path.includes('/generated/');
  const tooWide = ['src', 'test', 'scripts', 'bench']
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter(isOurs)
    .flatMap((path) =>
      readFileSync(path, 'utf8')
        .split('\n')
        .flatMap((line, index) => (isComment(line) && line.length > printWidth ? [`${path}:${index + 1}`] : [])),
    );
  expect(tooWide).toEqual([]);
});

const isComment = (line: string): boolean => /^\s*(?:\/\/|\/\*|\*|#)|[;{}(),] \/\/ /.test(line);

import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const repository = new URL('../..', import.meta.url).pathname;
const folders = ['bench', 'bin', 'docs', 'manifests', 'proto', 'scripts', 'src', 'test'];
const paths = [
  ...readdirSync(repository),
  ...folders.flatMap((folder) =>
    readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  ),
];
const documents = paths.filter((path) => /^(\w+|docs\/.*|test\/README)\.md$/.test(path));
const firstParts = new Set([...folders, ...readdirSync(join(repository, 'src'))]);

test('every path that a document names exists', () => {
  const named = documents.flatMap((document) =>
    codeOf(read(document))
      .filter(isOfTheRepository)
      .map((path) => ({ document, path })),
  );
  expect(named.filter(({ path }) => !exists(path.replace(/\/$/, '')))).toEqual([]);
});

test('every link of a document leads to a file, and to a heading in it', () => {
  const links = documents.flatMap((document) =>
    [...read(document).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(([, path = '', heading]) => ({
      document,
      path: path === '' ? document : join(dirname(document), path),
      heading,
    })),
  );
  expect(links.filter(({ path, heading }) => !leads(path, heading))).toEqual([]);
});

test('every page of docs that a source, script or test names exists', () => {
  const sources = paths.filter(
    (path) => /^(bin|bench|scripts|src|test)\//.test(path) && !/\/generated\/|^test\/golden/.test(path),
  );
  const named = sources
    .filter(isFile)
    .flatMap((path) =>
      [
        ...read(path).matchAll(/(?<![\w/.-])docs\/(?:(?:start|use|reference|internals)\/)?[\w-]+\.(?:md|yaml|svg)/g),
      ].map(([page]) => ({ path, page })),
    );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter(({ page }) => !existsSync(join(repository, page)))).toEqual([]);
});

const isFile = (path: string): boolean => statSync(join(repository, path)).isFile();

const read = (path: string): string => readFileSync(join(repository, path), 'utf8');

const codeOf = (text: string): string[] => [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);

/** Sources by their extension, other files and folders by where they begin. */
function isOfTheRepository(name: string): boolean {
  if (/^[\w./-]+\.(ts|tsx|mjs)$/.test(name)) return true;
  return /^[\w-]+(\/[\w.-]+)+\/?$/.test(name) && firstParts.has(name.split('/')[0] ?? '');
}

/** Pages leave out the folders that their topic implies, such as `src/`. */
const exists = (name: string): boolean => paths.some((path) => path === name || path.endsWith(`/${name}`));

function leads(path: string, heading: string | undefined): boolean {
  if (!existsSync(join(repository, path))) return false;
  return heading === undefined || headingsOf(read(path)).includes(heading);
}

/** As GitHub makes anchors of headings. */
const headingsOf = (text: string): string[] =>
  [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

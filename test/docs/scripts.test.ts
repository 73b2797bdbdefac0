import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { usage } from '../../bench/options.ts';

const repository = new URL('../..', import.meta.url).pathname;
const read = (path: string): string => readFileSync(join(repository, path), 'utf8');
const documents = [
  ...['README.md', 'CONTRIBUTING.md', 'test/README.md'],
  ...readdirSync(join(repository, 'docs'), { recursive: true, encoding: 'utf8' }).flatMap((name) =>
    name.endsWith('.md') ? [`docs/${name}`] : [],
  ),
];
const optionsOf = (text: string): string[] => text.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? [];

test('every option of a script that a document names is one of that script', () => {
  const named = documents.flatMap((document) =>
    [...read(document).matchAll(/npm run ([a-z]+) -- ([^`]*)/g)].flatMap(([, script = '', words = '']) =>
      optionsOf(words).map((option) => ({ document, script, option })),
    ),
  );
  const isKnown = ({ script, option }: { script: string; option: string }): boolean =>
    (script === 'bench' ? usage : read(`scripts/${script}`)).includes(option);
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((mention) => !isKnown(mention))).toEqual([]);
});

test('every option on the page about performance is one of the bench', () => {
  const code = read('docs/internals/performance.md').match(/`(?:-- )?--[^`]*`/g) ?? [];
  expect(new Set(code.flatMap(optionsOf).filter((option) => !usage.includes(option)))).toEqual(new Set());
});

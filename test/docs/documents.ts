import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const repository = new URL('../..', import.meta.url).pathname;

export const readDocument = (path: string): string => readFileSync(join(repository, path), 'utf8');

/** Paths of the pages of docs, such as `docs/use/images.md`. */
export const pages: readonly string[] = readdirSync(join(repository, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`)
  .toSorted();

/** All that users and developers read. */
export const documents: readonly string[] = ['README.md', 'CONTRIBUTING.md', 'test/README.md', ...pages];

/** The rows below a heading, without the head of their table: cells as they are written. */
export function rowsBelow(text: string, heading: string): string[][] {
  const [, section = ''] = text.split(`\n${heading}\n`);
  const [body = ''] = section.split(/^#/m);
  return body
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| -'))
    .slice(1)
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readExactYaml } from '../../../src/api/text/read-exact-yaml.ts';
import { readPlainYaml } from '../../../src/api/text/read-plain-yaml.ts';
import { splitDocuments } from '../../../src/api/text/read-yaml.ts';
import { ReadingBudget } from '../../../src/api/text/reading-budget.ts';
import { SeededRandom } from '../../builders/seeded-random.ts';
import { yamlText } from '../../builders/yaml-texts.ts';
import { loadCorpus } from '../../fuzz/corpus.ts';
import { mutateText } from '../../fuzz/mutate-text.ts';

// Slow machines are slow here; nothing waits.
const timeout = { timeout: 120_000 };

const corpus = loadCorpus(new URL('../../../', import.meta.url));

/** How many of the texts the plain reader takes, and those that it reads in another way than the exact one. */
function compareReaders(texts: readonly string[]): { taken: number; different: string[] } {
  const taken = texts.flatMap((text) => {
    const content = readPlainYaml(text, new ReadingBudget());
    return content ? [{ text, content }] : [];
  });
  const different = taken.filter(({ text, content }) => !isDeepStrictEqual(content, tryReadingExactly(text)));
  return { taken: taken.length, different: different.map(({ text }) => text) };
}

function tryReadingExactly(text: string): unknown {
  try {
    return readExactYaml(text, new ReadingBudget());
  } catch (error) {
    return error;
  }
}

function documentsOf(text: string): string[] {
  return Array.from(splitDocuments(text), ({ start, end }) => text.slice(start, end));
}

test('the plain reader takes nine of ten recorded manifests, and reads them as the exact one does', timeout, () => {
  const documents = corpus.filter((text) => !/^\s*\{/.test(text)).flatMap(documentsOf);
  const { taken, different } = compareReaders(documents);
  expect({ different, takesMost: taken > 0.9 * documents.length }).toEqual({ different: [], takesMost: true });
});

test('it reads YAML of every shape as the exact one does', timeout, () => {
  const seeds = fc.sample(fc.nat(), { numRuns: 5000, seed: 1 });
  const { taken, different } = compareReaders(seeds.map((seed) => yamlText(new SeededRandom(seed))));
  expect({ different, takesMany: taken > 1000 }).toEqual({ different: [], takesMany: true });
});

test('it reads broken manifests as the exact one does', timeout, () => {
  const seeds = fc.sample(fc.nat(), { numRuns: 1000, seed: 1 });
  const texts = seeds.flatMap((seed) => {
    const random = new SeededRandom(seed);
    const bytes = mutateText(random.pick(corpus), random.pick(corpus), random);
    return documentsOf(Buffer.from(bytes).toString('utf8'));
  });
  const { taken, different } = compareReaders(texts);
  expect({ different, takesMany: taken > 200 }).toEqual({ different: [], takesMany: true });
});

test.each([
  ['an empty value', 'a:\nb: 1\n'],
  ['an alias', 'a: &x 1\nb: *x\n'],
  ['a tag', 'a: !!str 1\n'],
  ['a merge key', '<<: {a: 1}\n'],
  ['an explicit key', 'a: 1\n? b\n: 2\n'],
  ['a key that is no text', '80: a\n'],
  ['a tab', 'a:\tb\n'],
  ['a carriage return', 'a: b\r\n'],
  ['a control character', 'a: "\u007F"\n'],
  ['two documents', 'a: b\n---\na: c\n'],
  ['an end of the document', 'a: b\n...\n'],
  ['a directive', '%YAML 1.1\n---\na: b\n'],
  ['a first line that is indented', '  ---\na: b\n'],
  ['no mapping', '- a\n'],
  ['infinity', 'a: .inf\n'],
  ['an escaped line break', 'a: "b\\\n\n c"\n'],
  ['blanks on an empty line of a block', 'a: |1-\n    \n'],
  ['a comment behind the mark of a block', 'a: | # so\n  b\n'],
  ['more levels than a manifest has', `a: ${'['.repeat(200)}${']'.repeat(200)}\n`],
  ['more text than a manifest has', `a: ${'b'.repeat(200_000)}\n`],
  ['a key behind an item of a list', 'a:\n- {} b: c\n'],
  ['nothing', '# so\n'],
])('it leaves %s to the exact one', (_what, text) => {
  expect(readPlainYaml(text, new ReadingBudget())).toEqual(undefined);
});

test('it takes from the budget what the exact one takes of values, and leaves it alone when that is not enough', () => {
  const text = `a: [${'b,'.repeat(80_000)}]\n`;
  const budget = new ReadingBudget();
  const kinds = Array.from({ length: 3 }, () => readPlainYaml(text, budget)?.root.kind);
  expect({ kinds, isExhausted: budget.isExhausted }).toEqual({
    kinds: ['object', 'object', undefined],
    isExhausted: false,
  });
});

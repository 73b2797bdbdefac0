import { describe, expect, test } from 'vitest';
import type { ManifestNode } from '../../src/api/text/manifest-node.ts';
import { readExactYaml } from '../../src/api/text/read-exact-yaml.ts';
import { readPlainYaml } from '../../src/api/text/read-plain-yaml.ts';
import { ReadingBudget } from '../../src/api/text/reading-budget.ts';

/** What Kubernetes reads, by the rules of YAML 1.1. */
const read: [text: string, value: unknown][] = [
  ['[a:b, c:]', ['a:b', 'c:']],
  ['[c:, d]', ['c:', 'd']],
  ['[c::, d]', ['c::', 'd']],
  ['[c :]', ['c :']],
  ['[http://x:80/, y:]', ['http://x:80/', 'y:']],
  ['[c: d:]', [{ c: 'd:' }]],
  ['{b:}', { 'b:': null }],
  ['{b:, c: d}', { 'b:': null, c: 'd' }],
  ['{b: c:, d: e}', { b: 'c:', d: 'e' }],
  ['[b, {c:}, d:]', ['b', { 'c:': null }, 'd:']],
  ['[c: ]', [{ c: null }]],
  ['{"a":b, "c":[d]}', { a: 'b', c: ['d'] }],
  ['[cat, -]', ['cat', '-']],
  ['[-, b]', ['-', 'b']],
  ['[-:]', ['-:']],
  ['{a: -}', { a: '-' }],
];

const refused = ['[:a]', '[::]', '[a?b]', '[http://x?y]', '{a:{b: c}}', '[a:[b]]', '{"a": b, c:[d]}'];

describe('inside brackets', () => {
  test.each(read)('%s is read as Kubernetes reads it, by both readers or by the exact one', (text, value) => {
    const manifest = `a: ${text}\n`;
    expect(plainValue(readExactYaml(manifest, new ReadingBudget()).root)).toEqual({ a: value });
    const plain = readPlainYaml(manifest, new ReadingBudget());
    expect(plain ? plainValue(plain.root) : { a: value }).toEqual({ a: value });
  });

  test.each(refused)('%s is refused as Kubernetes refuses it', (text) => {
    const manifest = `a: ${text}\n`;
    expect(readPlainYaml(manifest, new ReadingBudget())).toEqual(undefined);
    expect(() => readExactYaml(manifest, new ReadingBudget())).toThrow();
  });
});

function plainValue(node: ManifestNode): unknown {
  if (node.kind === 'list') return node.items.map(plainValue);
  if (node.kind === 'object') {
    return Object.fromEntries(node.entries.map(({ key, value }) => [key, plainValue(value)]));
  }
  return node.kind === 'string' ? node.value : null;
}

import { describe, expect, test } from 'vitest';
import { loadedManifests, podText } from '../builders/loaded-manifests.ts';

const mebibyte = 2 ** 20;
const jsonPod = (metadata: string): string =>
  `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web",${metadata}},"spec":{"containers":[{"name":"c","image":"i"}]}}`;
const jsonList = (items: string): string => `{"apiVersion":"v1","kind":"List","items":[${items}]}`;

describe('a text beyond a bound is refused', () => {
  test.each([
    [
      'of very many values in JSON',
      `{"a":[${'1,'.repeat(200_000)}1]}`,
      '1:400003 error The manifest has more than 200000 values',
    ],
    [
      'of very many words in YAML',
      `a: [${'1,'.repeat(300_000)}1]`,
      /error The YAML has more than 500000 words and marks$/,
    ],
    [
      'of very many words in all its documents together',
      `--- [${'1,'.repeat(20_000)}1]\n`.repeat(20),
      /error The YAML has more than 500000 words and marks$/,
    ],
    ['of very many lines', '\n'.repeat(500_001), 'error The manifest has more than 500000 lines'],
    ['of very many lines that a CR ends', '\r'.repeat(500_001), 'error The manifest has more than 500000 lines'],
    [
      'whose aliases stand for very many values',
      `a: &a [${'x,'.repeat(30_000)}x]\nb: [*a,*a,*a]\nc: [*a,*a,*a,*a]`,
      /error The manifest has more than 200000 values$/,
    ],
    ['with JSON that is nested very deeply', `{"a":${'['.repeat(5 * mebibyte)}`, /error JSON is nested too deeply$/],
  ])('%s', (_what, text, problem) => {
    const { problems } = loadedManifests(text);
    expect(problems.at(-1)).toEqual(typeof problem === 'string' ? problem : expect.stringMatching(problem));
  });

  test.each([
    ['JSON', '{"a":', '}'],
    ['YAML', 'a: ', ''],
  ])('of %s with more than 500 levels', (language, begin, end) => {
    const problemsOf = (levels: number): string =>
      loadedManifests(`${begin}${'['.repeat(levels)}${']'.repeat(levels)}${end}`).problems.join('\n');
    expect(problemsOf(480)).not.toContain('nested too deeply');
    expect(problemsOf(501)).toContain(`${language} is nested too deeply`);
  });

  test.each([
    ['documents', '---\na: 1\n'.repeat(5001)],
    ['items of a list', jsonList(Array.from({ length: 5001 }, () => '{"kind":"Pod"}').join(','))],
    ['items of lists in several documents', `${jsonList('1,'.repeat(2999) + '1').replace('{', '--- {')}\n`.repeat(2)],
  ])('of very many %s', (_what, text) => {
    expect(loadedManifests(text).problems.at(-1)).toMatch(/^error \d+ more problems are not shown$/);
    expect(loadedManifests(text).problems.length).toBeLessThanOrEqual(201);
  });

  test('of two pods with very many unknown fields and errors each, in one line for all that is not shown', () => {
    const unknown = Array.from({ length: 80 }, (_, index) => `"unknown${index}":1`).join(',');
    const env = Array.from({ length: 90 }, (_, index) => `{"name":"${index}=","value":"1"}`).join(',');
    const pod = (name: string): string =>
      `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"${name}"},` +
      `"spec":{"containers":[{"name":"c","image":"i","env":[${env}]}],${unknown}}}`;
    const { problems } = loadedManifests(jsonList([pod('a'), pod('b')].join(',')));
    expect(problems.filter((text) => text.endsWith('more problems are not shown'))).toEqual([problems.at(-1)]);
  });

  test('of very many documents that cannot be read', () => {
    const { problems } = loadedManifests('---\n]\n'.repeat(200));
    expect([problems.length, problems.at(-1)]).toEqual([
      101,
      'error 100 documents cannot be read; later ones are left out',
    ]);
  });

  test('of very many objects that are all good', () => {
    const pods = Array.from({ length: 5001 }, (_, index) => podText(`p${index}`)).join('---\n');
    expect(loadedManifests(pods).problems).toEqual(['error The manifest declares more than 5000 objects']);
  });
});

describe('what a text of the largest size cannot do', () => {
  // Each of these overflowed a stack, or took the time of the square of its length.
  test.each([
    ['colons', `a: ${':'.repeat(10 * mebibyte - 100)}`],
    ['a name of an anchor', `a: *${'a'.repeat(10 * mebibyte - 100)}`],
    ['a time of very many parts', `a: ${'1:'.repeat(5 * mebibyte - 100)}`],
    ['spaces before a block scalar that is broken', `${' '.repeat(2 * mebibyte)}a: |\n x\n]`],
    ['lines inside a bracket far to the right', `${'a'.repeat(900)}: ["${'\nx'.repeat(40_000)}`],
    [
      'fields of a list',
      `{"kind":"List","apiVersion":"v1",${Array.from({ length: 60_000 }, (_, i) => `"k${i}":1`).join(',')}}`,
    ],
    [
      'wrong keys of a ConfigMap',
      `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{${Array.from({ length: 60_000 }, (_, i) => `"k/${i}":""`).join(',')}}}`,
    ],
  ])('%s end in errors', (_what, text) => {
    expect(loadedManifests(text).problems).toContainEqual(expect.stringContaining('error'));
  });

  test('many small maps on top of a large one are one map', () => {
    const labels = Array.from({ length: 20_000 }, (_, index) => `"a${index}":""`).join(',');
    const repeats = Array.from({ length: 20_000 }, (_, index) => `"labels":{"b${index}":""}`).join(',');
    expect(loadedManifests(jsonPod(`"labels":{${labels}},${repeats}`)).pods).toEqual(['default/web-edge1']);
  });
});

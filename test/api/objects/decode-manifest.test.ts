import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadManifests } from '../../../src/api/objects/load-manifests.ts';
import { loadOptions } from '../../builders/loaded-manifests.ts';
import { propertyRuns } from '../../support/property-runs.ts';
import { decodeManifest } from '../../builders/load-pod.ts';

const origin = '/manifests/web.yaml';

function manifest(...lines: string[]): string {
  return ['apiVersion: v1', 'kind: Pod', 'metadata:', '  name: web', ...lines, ''].join('\n');
}

describe('problems', () => {
  test('names file, line, column, field and remedy of a value of the wrong type', () => {
    const text = manifest('spec:', '  containers:', '  - name: c', '    env:', '    - name: PORT', '      value: 80');
    expect(decodeManifest(text, origin)).toMatchObject({
      problems: [
        {
          origin,
          line: 10,
          column: 14,
          field: 'spec.containers[0].env[0].value',
          message: 'Expected a string, found the number 80',
          hint: 'Put it in quotes: "80".',
          severity: 'error',
        },
      ],
    });
  });

  test('finds the same place in JSON', () => {
    const text = '{"apiVersion": "v1",\n "kind": "Pod",\n "spec": {"hostNetwork": "yes"}}';
    expect(decodeManifest(text, origin).problems).toEqual([
      {
        origin,
        line: 3,
        column: 26,
        field: 'spec.hostNetwork',
        message: 'Expected true or false, found the string "yes"',
        severity: 'error',
      },
    ]);
  });

  test('drops an unknown field and asks whether another one was meant', () => {
    const { pod, problems } = decodeManifest(manifest('spec:', '  hostNetwrok: true'), origin);
    expect({ pod, problems }).toEqual({
      pod: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: {} },
      problems: [
        {
          origin,
          line: 6,
          column: 3,
          field: 'spec.hostNetwrok',
          message: 'Unknown field "hostNetwrok" is ignored',
          hint: 'Did you mean "hostNetwork"?',
          severity: 'warning',
        },
      ],
    });
  });

  test('warns of a repeated key and takes the last', () => {
    const { pod, problems } = decodeManifest(manifest('  labels: {app: a, app: b}'), origin);
    expect(pod?.metadata?.labels).toEqual({ app: 'b' });
    expect(problems).toMatchObject([{ line: 5, column: 20, severity: 'warning' }]);
  });

  test('points at broken YAML', () => {
    expect(decodeManifest(manifest('spec: {containers: ['), origin).problems).toMatchObject([
      { line: 6, column: 1, severity: 'error' },
    ]);
  });

  test.each([
    ['apiVersion: v1\nkind: Deployment\n', 'apiVersion "v1" is not supported', 'apiVersion: apps/v1'],
    ['apiVersion: v2\nkind: Pod\n', 'apiVersion "v2" is not supported', 'apiVersion: v1'],
    ['kind: Pod\n', 'apiVersion is missing', 'apiVersion: v1'],
    ['services: {web: {image: nginx}}\n', 'apiVersion is missing', 'kompose convert'],
    ['resources: [web.yaml]\n', 'apiVersion is missing', 'kubectl kustomize FOLDER'],
    ['- a\n', 'Expected an object, found a list', 'items of a List'],
    ['', 'The text declares nothing', 'apiVersion: v1'],
  ])('refuses %j by saying so', (text, message, hint) => {
    const { pods, problems } = loadManifests(text, loadOptions);
    expect({ pods, problems }).toMatchObject({ pods: [], problems: [{ message, severity: 'error' }] });
    expect(problems[0]?.hint).toContain(hint);
  });

  test('shows the first of very many problems and counts the rest', () => {
    const { problems } = decodeManifest(
      manifest('  finalizers:', ...Array.from({ length: 80 }, () => '  - 1')),
      origin,
    );
    expect(problems.filter(({ severity }) => severity === 'error')).toHaveLength(50);
    expect(problems.at(-1)?.message).toBe('30 more problems are not shown');
  });
});

describe('YAML', () => {
  test('quotes and brackets may end at the column of their key', () => {
    const text = 'kind: Pod\nmetadata: {\n  name: web,\n}\nspec:\n  containers: [\n    {name: "c\n    d"},\n  ]\n';
    expect(decodeManifest(`apiVersion: v1\n${text}`, origin).pod).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web' },
      spec: { containers: [{ name: 'c d' }] },
    });
  });

  test.each([
    [
      'metadata: {\nname: web}',
      '4:1',
      '"}" is missing',
      'Close the bracket. Indent the lines inside it more than the key before it.',
    ],
    [
      'metadata: {name: "we\nb"}',
      '3:18',
      'The quote that begins here has no end',
      'Close the quote. Indent its other lines more than the key before it.',
    ],
  ])('says where and how to indent %j', (line, place, message, hint) => {
    const { problems } = decodeManifest(`apiVersion: v1\nkind: Pod\n${line}\n`, origin);
    expect(problems.map((one) => [`${one.line}:${one.column}`, one.message, one.hint])).toEqual([
      [place, message, hint],
    ]);
  });

  test('merges in the order things are written', () => {
    const text = manifest('  labels:', '    a: first', '    <<: {a: merged, b: merged}', '    b: last');
    expect(decodeManifest(text, origin).pod?.metadata?.labels).toEqual({ a: 'merged', b: 'last' });
  });

  test('reads UTF-16 with a byte order mark', () => {
    const text = `\uFEFF${manifest('  labels: {city: Köln}')}`;
    expect(decodeManifest(Buffer.from(text, 'utf16le'), origin).pod?.metadata?.labels).toEqual({ city: 'Köln' });
  });

  test.each([
    ['an alias to itself', manifest('  labels: &l', '    a: *l')],
    ['an undefined alias', manifest('  labels: *l')],
    ['a scalar that is merged', manifest('  labels: {<<: text}')],
    ['a template', manifest('spec: {{ spec }}')],
    ['YAML 1.2', `%YAML 1.2\n---\n${manifest()}`],
    ['an infinite number', manifest('  generation: .inf')],
    ['broken base64', manifest('  labels: {a: !!binary "%"}')],
    ['a value that belies its tag', manifest('  labels: {a: !!int x}')],
  ])('refuses %s', (_what, text) => {
    expect(decodeManifest(text, origin)).toMatchObject({ problems: [{ severity: 'error' }] });
    expect(decodeManifest(text, origin).pod).toBeUndefined();
  });
});

describe('JSON', () => {
  test('decodes a repeated key on top of the first one', () => {
    const text = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"metadata":{"namespace":"b"}}';
    expect(decodeManifest(text, origin).pod?.metadata).toEqual({ name: 'a', namespace: 'b' });
  });

  test('warns of a repeated key where it stands', () => {
    const text = '{"apiVersion":"v1","kind":"Pod",\n "metadata":{"name":"a",\n  "name":"b"},"metadata":{"uid":"c"}}';
    const { pod, problems } = decodeManifest(text, origin);
    expect({ metadata: pod?.metadata, problems }).toEqual({
      metadata: { name: 'b', uid: 'c' },
      problems: [
        {
          origin,
          line: 3,
          column: 3,
          message: 'Key "name" is written more than once; the last one counts',
          hint: 'Remove the others.',
          severity: 'warning',
        },
        {
          origin,
          line: 3,
          column: 15,
          message: 'Key "metadata" is written more than once; the last one counts',
          hint: 'Remove the others.',
          severity: 'warning',
        },
      ],
    });
  });

  test('takes the kind whatever the case of its key', () => {
    expect(decodeManifest('{"apiVersion":"v1","Kind":"Pod"}', origin).pod).toEqual({ apiVersion: 'v1', kind: 'Pod' });
  });

  test.each([
    '{"a": 1,}',
    '{"a": 01}',
    "{'a': 1}",
    '{"a": "\\x"}',
    '{"a": "',
    '{"a": [1',
    '{"a" 1}',
    '{"a": nul}',
    '{} {}',
  ])('refuses %j', (text) => {
    expect(decodeManifest(text, origin)).toMatchObject({ problems: [{ line: 1, severity: 'error' }] });
  });

  test('keeps a key that JavaScript would take for something else', () => {
    const { pod } = decodeManifest('{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"__proto__":"x"}}}', origin);
    expect(Object.entries(pod?.metadata?.labels ?? {})).toEqual([['__proto__', 'x']]);
  });
});

describe('bounds', () => {
  const bomb = ['a: &a [x,x,x,x,x,x,x,x,x,x]']
    .concat(
      ['b', 'c', 'd', 'e', 'f', 'g', 'h'].map(
        (name, index) => `${name}: &${name} [${`*${'abcdefgh'[index] ?? ''},`.repeat(10)}]`,
      ),
    )
    .join('\n');

  test.each([
    ['a file beyond the size limit', `# ${'x'.repeat(10 * 1024 * 1024)}`, 'larger than 10 MiB'],
    ['anchors that multiply', bomb, 'anchors excessively'],
    ['brackets without end in YAML', `a: ${'['.repeat(100_000)}`, 'nested too deeply'],
    ['dashes without end', '- '.repeat(100_000), 'nested too deeply'],
    ['brackets without end in JSON', `{"a": ${'['.repeat(100_000)}`, 'nested too deeply'],
  ])('refuses %s at once', (_what, text, message) => {
    const { problems } = decodeManifest(text, origin);
    expect(problems).toHaveLength(1);
    expect(problems[0]?.message).toContain(message);
  });

  test('gives a pod or errors for whatever it reads, and never throws', () => {
    const piece = fc.constantFrom(
      ...[
        '{',
        '}',
        '[',
        ']',
        ':',
        ': ',
        '- ',
        '"',
        "'",
        '\n',
        '  ',
        '#',
        '&a ',
        '*a',
        '!!int ',
        '|',
        '>',
        '? ',
        '<<: ',
        'a',
        '1',
        'null',
        ',',
        '\t',
        '---',
        '%',
        '\\',
        'é',
        '\u0085',
        'kind: Pod\n',
        'apiVersion: v1\n',
        'metadata:',
        'labels: ',
      ],
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join('')),
        ),
        (text) => {
          const { pod, problems } = decodeManifest(text, origin);
          expect(pod === undefined).toBe(problems.some(({ severity }) => severity === 'error'));
        },
      ),
      propertyRuns(500),
    );
  });
});

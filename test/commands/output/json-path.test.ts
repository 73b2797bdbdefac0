import { expect, test } from 'vitest';
import { parseColumns } from '../../../src/commands/output/custom-columns.ts';
import { parseTemplate } from '../../../src/commands/output/json-path-template.ts';
import { parseJSONPath, valuesAt } from '../../../src/commands/output/json-path.ts';

const pod = (name: string, restarts: number, labels: Record<string, string> = {}): object => ({
  metadata: { name, labels },
  spec: { containers: [{ name: 'app', image: `${name}:1` }, { name: 'side' }] },
  status: { conditions: [{ type: 'Ready', status: 'True' }], containerStatuses: [{ restartCount: restarts }] },
});
const list = { kind: 'List', items: [pod('web', 0, { 'kubernetes.io/os': 'linux' }), pod('db', 3)] };

test.each<[path: string, values: unknown[]]>([
  ['.kind', ['List']],
  ['{.kind}', ['List']],
  ['kind', ['List']],
  ['$.kind', ['List']],
  ['.items[*].metadata.name', ['web', 'db']],
  ['.items[0].metadata.name', ['web']],
  ['.items[-1].metadata.name', ['db']],
  ['.items[5].metadata.name', []],
  ['.items[0:1].metadata.name', ['web']],
  ['.items[1:].metadata.name', ['db']],
  ['.items[::2].metadata.name', ['web']],
  [String.raw`.items[0].metadata.labels.kubernetes\.io/os`, ['linux']],
  [".items[0].metadata.labels['kubernetes.io/os']", ['linux']],
  ['.items[?(@.metadata.name=="db")].spec.containers[0].image', ['db:1']],
  ["$.items[?(@.metadata.name!='db')].metadata.name", ['web']],
  ['.items[?(@.status.containerStatuses[0].restartCount>2)].metadata.name', ['db']],
  ['.items[?(@.metadata.labels.app)].metadata.name', []],
  ['..image', ['web:1', 'db:1']],
  ['.missing.more', []],
  ['.toString', []],
])('the path %s has its values', (path, values) => {
  expect(valuesAt(list, parseJSONPath(path))).toEqual(values);
});

test.each([
  ['.items[', '".items["', '['],
  ['.items[?(name==1)]', '"[?(name==1)]"', 'name==1'],
  ['.items[abc]', '".items[abc]"', '[abc]'],
  ['.a b', '".a b"', ' b'],
  ['.items[?(@.a==b)]', '"@.a==b"', 'b'],
])('the path %s is refused, with the place where that begins', (path, shown, rest) => {
  const message = `${shown} is not a supported path, from "${rest}" on`;
  expect(() => parseJSONPath(path)).toThrow(expect.objectContaining({ name: 'UserError', message }) as Error);
});

test.each<[template: string, text: string]>([
  ['{.items[*].metadata.name}', 'web db'],
  ['.items[*].metadata.name', 'web db'],
  [
    String.raw`{range .items[*]}{.metadata.name}{"\t"}{.spec.containers[*].name}{"\n"}{end}`,
    'web\tapp side\ndb\tapp side\n',
  ],
  ['pods: {.items[0].metadata.name}, {.none}', 'pods: web, '],
  ['{.items[0].spec.containers[1]}', '{"name":"side"}'],
  ["{'a}b'}", 'a}b'],
])('the template %s is filled in', (template, text) => {
  expect(parseTemplate(template)(list)).toBe(text);
});

test.each(['{range .items[*]}{.metadata.name}', '{end}', '{.a', '{"a}'])('the template %s is refused', (template) => {
  expect(() => parseTemplate(template)).toThrow(/is not a/);
});

test('custom columns make a table, with <none> for a missing value', async () => {
  const table = parseColumns('NAME:.metadata.name,IMAGES:.spec.containers[*].image,IP:{.status.podIP}');
  expect(await table(list.items, true)).toBe('NAME   IMAGES   IP\nweb    web:1    <none>\ndb     db:1     <none>\n');
  expect(() => parseColumns('NAME')).toThrow('"NAME" is not a column');
});

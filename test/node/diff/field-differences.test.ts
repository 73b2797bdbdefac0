import { expect, test } from 'vitest';
import { fieldDifferences } from '../../../src/node/diff/field-differences.ts';

test('names a changed field by its path', () => {
  const spec = (image: string): object => ({ spec: { containers: [{ name: 'app', image }] } });
  expect(fieldDifferences(spec('a:1'), spec('a:2'))).toEqual([
    { path: 'spec.containers[0].image', current: 'a:1', desired: 'a:2' },
  ]);
});

test('compares items of lists by their names', () => {
  const current = { containers: [{ name: 'app', env: [{ name: 'A', value: '1' }] }, { name: 'old' }] };
  const desired = { containers: [{ name: 'new' }, { name: 'app', env: [{ name: 'A', value: '2' }] }] };
  expect(fieldDifferences(current, desired)).toEqual([
    { path: 'containers[1].env[0].value', current: '1', desired: '2' },
    { path: 'containers[1]', current: { name: 'old' } },
    { path: 'containers[0]', desired: { name: 'new' } },
  ]);
});

test.each([
  ['words', { args: ['a', 'b'] }, { args: ['a', 'c', 'd'] }, ['args[1]', 'args[2]']],
  ['mounts', { m: [{ mountPath: '/a' }] }, { m: [{ mountPath: '/a', readOnly: true }] }, ['m[0].readOnly']],
  ['two items of one name', { l: [{ name: 'a' }, { name: 'a' }] }, { l: [{ name: 'a' }] }, ['l']],
  ['keys that are no names', { labels: { 'a.b/c': '1' } }, { labels: { 'a.b/c': '2' } }, ['labels["a.b/c"]']],
  ['what every object has', { labels: {} }, { labels: { constructor: 'x' } }, ['labels.constructor']],
  ['nothing', { a: [], b: { c: null } }, { a: [], b: { c: null } }, []],
])('compares %s', (_what, current, desired, paths) => {
  expect(fieldDifferences(current, desired).map(({ path }) => path)).toEqual(paths);
});

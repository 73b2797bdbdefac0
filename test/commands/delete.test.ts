import { expect, test } from 'vitest';
import { objectsNamed } from '../../src/commands/delete.ts';

test.each([
  [['web'], [{ kind: 'Pod', namespace: 'shop', name: 'web' }]],
  [['pod', 'web', 'db'], ['web', 'db'].map((name) => ({ kind: 'Pod', namespace: 'shop', name }))],
  [['po/web'], [{ kind: 'Pod', namespace: 'shop', name: 'web' }]],
  [['other/web'], [{ kind: 'Pod', namespace: 'other', name: 'web' }]],
  [['deployment/other/web'], [{ kind: 'Deployment', namespace: 'other', name: 'web' }]],
  [['runtimeclass/safe'], [{ kind: 'RuntimeClass', namespace: '', name: 'safe' }]],
  [['pod'], [{ kind: 'Pod', namespace: 'shop', name: 'pod' }]],
])('%j names %j', (words, objects) => {
  expect(objectsNamed(words, 'shop')).toEqual(objects);
});

test.each(['', 'a/b/c', 'pod/', 'pod/a/b/c'])('"%s" names nothing', (word) => {
  expect(() => objectsNamed([word])).toThrow(/names no object/);
});

import { expect, test } from 'vitest';
import type { ConfigData } from '../../../src/api/values/config-object.ts';
import { ConfigObjects } from '../../../src/engine/config-objects/config-objects.ts';
import { makeConfigMap } from '../../builders/config-objects.ts';

const configMap = (name: string, value: string, more: Partial<ConfigData> = {}): ConfigData =>
  makeConfigMap(name, { key: value }, more);

test('reports which objects came, changed and went', () => {
  const objects = new ConfigObjects();
  expect(objects.replace('file', [configMap('a', '1'), configMap('b', '1')]).changed).toEqual([
    'ConfigMap/default/a',
    'ConfigMap/default/b',
  ]);
  expect(objects.replace('file', [configMap('b', '1'), configMap('a', '1')]).changed).toEqual([]);
  expect(objects.replace('file', [configMap('a', '2'), configMap('c', '1')]).changed).toEqual([
    'ConfigMap/default/a',
    'ConfigMap/default/b',
    'ConfigMap/default/c',
  ]);
  expect(objects.get('ConfigMap', 'default', 'a')).toEqual(configMap('a', '2'));
  expect(objects.get('ConfigMap', 'default', 'b')).toBeUndefined();
  expect(objects.get('Secret', 'default', 'a')).toBeUndefined();
});

test('the source that was read first owns an object, and the other takes over when it drops it', () => {
  const objects = new ConfigObjects();
  objects.replace('file', [configMap('a', 'of the file')]);
  expect(objects.replace('http', [configMap('a', 'of the server')]).changed).toEqual([]);
  expect(objects.get('ConfigMap', 'default', 'a')).toEqual(configMap('a', 'of the file'));
  expect(objects.replace('file', []).changed).toEqual(['ConfigMap/default/a']);
  expect(objects.get('ConfigMap', 'default', 'a')).toEqual(configMap('a', 'of the server'));
});

test('an immutable object stays as it came until it goes', () => {
  const objects = new ConfigObjects();
  const key = 'ConfigMap/default/a';
  const first = configMap('a', '1', { immutable: true });
  expect(objects.replace('file', [first])).toEqual({ changed: [key], refused: [] });
  for (const other of [configMap('a', '2', { immutable: true }), configMap('a', '1')]) {
    expect(objects.replace('file', [other])).toEqual({ changed: [], refused: [key] });
    expect(objects.get('ConfigMap', 'default', 'a')).toEqual(first);
  }
  expect(objects.replace('file', [first])).toEqual({ changed: [], refused: [] });
  objects.replace('file', []);
  expect(objects.replace('file', [configMap('a', '2')])).toEqual({ changed: [key], refused: [] });
});

test('a source that begins to declare an object later does not take it away from another one', () => {
  const objects = new ConfigObjects();
  objects.replace('file', []);
  objects.replace('http', [configMap('a', 'of the server')]);
  expect(objects.replace('file', [configMap('a', 'of the file')]).changed).toEqual([]);
  expect(objects.get('ConfigMap', 'default', 'a')).toEqual(configMap('a', 'of the server'));
});

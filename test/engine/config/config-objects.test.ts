import { expect, test } from 'vitest';
import type { ConfigObject } from '../../../src/api/config-object.ts';
import { ConfigObjects } from '../../../src/engine/config/config-objects.ts';

function configMap(name: string, value: string): ConfigObject {
  const data = new Map([['key', Buffer.from(value)]]);
  return { kind: 'ConfigMap', namespace: 'default', name, data, binaryData: new Map(), type: '', immutable: false };
}

test('tells which objects came, changed and went', () => {
  const objects = new ConfigObjects();
  expect(objects.replace('file', [configMap('a', '1'), configMap('b', '1')])).toEqual([
    'ConfigMap/default/a',
    'ConfigMap/default/b',
  ]);
  expect(objects.replace('file', [configMap('b', '1'), configMap('a', '1')])).toEqual([]);
  expect(objects.replace('file', [configMap('a', '2'), configMap('c', '1')])).toEqual([
    'ConfigMap/default/a',
    'ConfigMap/default/b',
    'ConfigMap/default/c',
  ]);
  expect(objects.get('ConfigMap', 'default', 'a')).toEqual(configMap('a', '2'));
  expect(objects.get('ConfigMap', 'default', 'b')).toBeUndefined();
  expect(objects.get('Secret', 'default', 'a')).toBeUndefined();
});

test('of two sources the one that was read first gives an object, the other one stands in when it goes', () => {
  const objects = new ConfigObjects();
  objects.replace('file', [configMap('a', 'of the file')]);
  expect(objects.replace('http', [configMap('a', 'of the server')])).toEqual([]);
  expect(objects.get('ConfigMap', 'default', 'a')).toEqual(configMap('a', 'of the file'));
  expect(objects.replace('file', [])).toEqual(['ConfigMap/default/a']);
  expect(objects.get('ConfigMap', 'default', 'a')).toEqual(configMap('a', 'of the server'));
});

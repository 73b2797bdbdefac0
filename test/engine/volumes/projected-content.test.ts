import { describe, expect, test } from 'vitest';
import type { Pod, Volume } from '../../../src/api/types.ts';
import { UserError } from '../../../src/errors.ts';
import { volumeContent } from '../../../src/engine/volumes/projected-content.ts';
import { configObjectsOf, makeConfigMap, makeSecret } from '../../builders/config-objects.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';

const sources = {
  configObjects: configObjectsOf(
    makeConfigMap('settings', { mode: 'blue', size: '3' }, { binaryData: new Map([['logo', Buffer.from('PNG')]]) }),
    makeConfigMap('settings', { mode: 'of another namespace' }, { namespace: 'other' }),
    makeSecret('login', { password: 'secret' }),
  ),
  allocatable: { cpu: '4', memory: '8Gi' },
};

const pod = makePod({
  metadata: { labels: { app: 'web', zone: 'a"b' }, annotations: { note: 'hi' } },
  spec: { containers: [makeContainer({ resources: { requests: { memory: '64Mi' } } })] },
});

/** Path to `mode content`, with the mode in octal. */
function filesOf(volume: Omit<Volume, 'name'>, of: Pod = pod): Record<string, string> {
  const content = volumeContent(of, { name: 'v', ...volume }, sources);
  return Object.fromEntries(
    [...content].map(([path, { data, mode }]) => [path, `${mode.toString(8)} ${Buffer.from(data).toString()}`]),
  );
}

describe('a ConfigMap or Secret', () => {
  test('has a file per key, binary data included', () => {
    expect(filesOf({ configMap: { name: 'settings' } })).toEqual({ logo: '644 PNG', mode: '644 blue', size: '644 3' });
    expect(filesOf({ secret: { secretName: 'login', defaultMode: 0o400 } })).toEqual({ password: '400 secret' });
  });

  test('has only the files in items, with their paths and modes', () => {
    const items = [
      { key: 'mode', path: 'etc/color' },
      { key: 'mode', path: 'again', mode: 0o600 },
    ];
    expect(filesOf({ configMap: { name: 'settings', items, defaultMode: 0o440 } })).toEqual({
      'etc/color': '440 blue',
      again: '600 blue',
    });
  });

  test('is looked up in the namespace of the pod', () => {
    const other = makePod({ metadata: { namespace: 'other' } });
    expect(filesOf({ configMap: { name: 'settings' } }, other)).toEqual({ mode: '644 of another namespace' });
  });

  test.each<[string, Omit<Volume, 'name'>]>([
    ['configmap "none" not found', { configMap: { name: 'none' } }],
    ['secret "none" not found', { secret: { secretName: 'none' } }],
    ['secret "settings" not found', { secret: { secretName: 'settings' } }],
    [
      'configmap references non-existent config key: none',
      { configMap: { name: 'settings', items: [{ key: 'none', path: 'p' }] } },
    ],
    [
      'references non-existent secret key: none',
      { secret: { secretName: 'login', items: [{ key: 'none', path: 'p' }] } },
    ],
  ])('that lacks something is refused: %s', (message, volume) => {
    expect(() => filesOf(volume)).toThrow(new UserError(message));
  });

  test('that is optional has the keys that exist', () => {
    expect(filesOf({ configMap: { name: 'none', optional: true } })).toEqual({});
    const items = ['none', 'password'].map((key) => ({ key, path: key }));
    expect(filesOf({ secret: { secretName: 'login', optional: true, items } })).toEqual({ password: '644 secret' });
  });
});

describe('the downward API', () => {
  test('has fields of the pod, whole maps included, and resources of its containers', () => {
    const field = (path: string, fieldPath: string) => ({ path, fieldRef: { fieldPath } });
    const resource = (path: string, name: string, divisor = '1') => ({
      path,
      resourceFieldRef: { containerName: 'web', resource: name, divisor },
      mode: 0o600,
    });
    const items = [
      field('name', 'metadata.name'),
      field('labels', 'metadata.labels'),
      field('note', "metadata.annotations['note']"),
      resource('memory', 'requests.memory', '1Mi'),
      resource('limit', 'limits.memory'),
    ];
    expect(filesOf({ downwardAPI: { items } })).toEqual({
      name: '644 web-node1',
      labels: '644 app="web"\nzone="a\\"b"',
      note: '644 hi',
      memory: '600 64',
      limit: '600 8589934592',
    });
  });

  test('rejects unknown fields', () => {
    const file = { path: 'f', resourceFieldRef: { containerName: 'none', resource: 'limits.cpu' } };
    expect(() => filesOf({ downwardAPI: { items: [file] } })).toThrow('file "f": the pod has no container "none"');
  });
});

describe('a projected volume', () => {
  test('has the files of all sources; later sources win', () => {
    const projected = {
      defaultMode: 0o400,
      sources: [
        { configMap: { name: 'settings' } },
        { secret: { name: 'login', items: [{ key: 'password', path: 'mode', mode: 0o440 }] } },
        { downwardAPI: { items: [{ path: 'pod/name', fieldRef: { fieldPath: 'metadata.name' } }] } },
        { secret: { name: 'none', optional: true } },
      ],
    };
    expect(filesOf({ projected })).toEqual({
      logo: '400 PNG',
      size: '400 3',
      mode: '440 secret',
      'pod/name': '400 web-node1',
    });
  });

  test('lists each missing part once', () => {
    const sourcesOf = (...names: string[]) => names.map((name) => ({ secret: { name } }));
    expect(() => filesOf({ projected: { sources: sourcesOf('a', 'login', 'b', 'a') } })).toThrow(
      new UserError('[secret "a" not found, secret "b" not found]'),
    );
    const token = { serviceAccountToken: { path: 'token' } };
    expect(() => filesOf({ projected: { sources: [token] } })).toThrow('there is no API server');
  });
});

test('the group of fsGroup can read the files', () => {
  const grouped = makePod({ spec: { securityContext: { fsGroup: 2000 } } });
  expect(filesOf({ secret: { secretName: 'login', defaultMode: 0o400 } }, grouped)).toEqual({ password: '440 secret' });
});

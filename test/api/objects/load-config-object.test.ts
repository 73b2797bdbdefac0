import { describe, expect, test } from 'vitest';
import { loadManifests } from '../../../src/api/objects/load-manifests.ts';
import { loadedManifests, loadOptions } from '../../builders/loaded-manifests.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const base64 = (text: string): string => Buffer.from(text).toString('base64');

function configMap(...lines: string[]): string {
  return ['apiVersion: v1', 'kind: ConfigMap', 'metadata: {name: web}', ...lines, ''].join('\n');
}

function secret(...lines: string[]): string {
  return ['apiVersion: v1', 'kind: Secret', 'metadata: {name: web}', ...lines, ''].join('\n');
}

describe('the values', () => {
  const empty = { namespace: 'default', name: 'web', data: new Map(), binaryData: new Map(), immutable: false };
  const emptyMap = { ...empty, kind: 'ConfigMap', type: '' };
  const emptySecret = { ...empty, kind: 'Secret', type: 'Opaque' };
  test.each([
    ['of a ConfigMap without any', configMap(), emptyMap],
    ['of a ConfigMap with null', configMap('data:', 'binaryData:'), emptyMap],
    [
      'of a ConfigMap are text and bytes',
      configMap('data: {b: "é", a: ""}', 'binaryData: {c: /w==}', 'immutable: true'),
      {
        ...emptyMap,
        data: new Map([
          ['b', bytes('é')],
          ['a', bytes('')],
        ]),
        binaryData: new Map([['c', Uint8Array.of(255)]]),
        immutable: true,
      },
    ],
    [
      'of a ConfigMap keep their line breaks',
      configMap('data:', '  motd: |', '    hello', '    world'),
      { ...emptyMap, data: new Map([['motd', bytes('hello\nworld\n')]]) },
    ],
    [
      'of a ConfigMap may have keys that mean something to JavaScript',
      configMap('data: {__proto__: a, constructor: b}'),
      {
        ...emptyMap,
        data: new Map([
          ['__proto__', bytes('a')],
          ['constructor', bytes('b')],
        ]),
      },
    ],
    ['of a Secret without any', secret(), emptySecret],
    [
      'of a Secret are decoded',
      secret(`data: {a: ${base64('one')}, b: ""}`),
      {
        ...emptySecret,
        data: new Map([
          ['a', bytes('one')],
          ['b', bytes('')],
        ]),
      },
    ],
    [
      'of a Secret may be folded',
      secret('data:', '  a: |', '    b25l', '    dHdv'),
      { ...emptySecret, data: new Map([['a', bytes('onetwo')]]) },
    ],
    [
      'of a Secret have the text over the bytes',
      secret(`data: {a: ${base64('one')}, b: ${base64('two')}}`, 'stringData: {b: three, c: four}'),
      {
        ...emptySecret,
        data: new Map([
          ['a', bytes('one')],
          ['b', bytes('three')],
          ['c', bytes('four')],
        ]),
      },
    ],
    [
      'of a Secret of a namespace and a type of its own',
      secret('type: example.com/token').replace('{name: web}', '{name: web, namespace: shop}'),
      { ...emptySecret, namespace: 'shop', type: 'example.com/token' },
    ],
    [
      'of a Secret for a registry',
      secret('type: kubernetes.io/dockerconfigjson', 'stringData: {.dockerconfigjson: "{}"}'),
      { ...emptySecret, type: 'kubernetes.io/dockerconfigjson', data: new Map([['.dockerconfigjson', bytes('{}')]]) },
    ],
  ])('%s', (_what, text, expected) => {
    expect(loadManifests(text, loadOptions)).toEqual({ pods: [], configObjects: [expected], problems: [] });
  });
});

const longName = 'n'.repeat(254);
const megabyte = 'x'.repeat(1024 * 1024);

describe('a broken rule', () => {
  test.each([
    ['needs a name', configMap().replace('web', '""'), '3:18 error metadata.name Required value: a name is needed'],
    [
      'checks the name',
      configMap().replace('web', 'We_b'),
      '3:18 error metadata.name Invalid value: "We_b": must consist of lower case letters, digits, "-" and ".", and each part start and end with a letter or digit',
    ],
    [
      'limits the name',
      configMap().replace('web', longName),
      `3:18 error metadata.name Invalid value: "${longName.slice(0, 199)}…: must be no more than 253 bytes`,
    ],
    [
      'checks the namespace',
      secret().replace('web', 'web, namespace: a.b'),
      '3:34 error metadata.namespace Invalid value: "a.b": must consist of lower case letters, digits and "-", and start and end with a letter or digit',
    ],
    [
      'checks labels',
      configMap().replace('web', 'web, labels: {a b: c}'),
      '3:23 error metadata.labels Invalid value: "a b": must consist of letters, digits, "-", "_" and ".", and start and end with a letter or digit',
    ],
    [
      'checks keys of text',
      configMap('data: {a/b: c}'),
      '4:13 error data[a/b] Invalid value: "a/b": must consist of letters, digits, "-", "_" and "."',
    ],
    [
      'checks keys of bytes',
      configMap('binaryData: {..a: YQ==}'),
      '4:19 error binaryData[..a] Invalid value: "..a": must not be "." or start with ".."',
    ],
    [
      'checks keys of a Secret',
      secret('stringData: {a b: c}'),
      '4:19 error stringData[a b] Invalid value: "a b": must consist of letters, digits, "-", "_" and "."',
    ],
    [
      'limits keys',
      configMap(`data: {${longName}: c}`),
      `4:264 error data[${longName}] Invalid value: "${longName.slice(0, 199)}…: must be no more than 253 bytes`,
    ],
    [
      'takes a key once',
      configMap('data: {a: b}', 'binaryData: {a: YQ==}'),
      '5:17 error binaryData[a] Invalid value: "a": is a key of data too',
    ],
    [
      'limits a ConfigMap to a mebibyte',
      configMap(`data: {a: ${megabyte}}`, 'binaryData: {b: YQ==}'),
      '4:1 error data Too long: must be no more than 1048576 bytes in all',
    ],
    [
      'limits a Secret to a mebibyte',
      secret(`stringData: {a: ${megabyte}, b: c}`),
      '1:1 error data Too long: must be no more than 1048576 bytes in all',
    ],
    [
      'takes only text in a ConfigMap',
      configMap('data: {port: 80}'),
      '4:14 error data[port] Expected a string, found the number 80',
    ],
    [
      'takes only base64 as bytes',
      configMap('binaryData: {a: plain}'),
      '4:17 error binaryData[a] Expected a string in base64, found other text',
    ],
    [
      'takes only base64 as bytes of the right length',
      configMap('binaryData: {a: YQ=}'),
      '4:17 error binaryData[a] Expected a string in base64, found other text',
    ],
    [
      'needs credentials of a registry',
      secret('type: kubernetes.io/dockerconfigjson'),
      '1:1 error data[.dockerconfigjson] Required value: a Secret of type kubernetes.io/dockerconfigjson needs it',
    ],
    [
      'needs JSON for a registry',
      secret('type: kubernetes.io/dockerconfigjson', `data: {.dockerconfigjson: ${base64('[]')}}`),
      '5:27 error data[.dockerconfigjson] Invalid value: "<not shown>": must be a JSON object',
    ],
    [
      'needs JSON for a registry of the older type',
      secret('type: kubernetes.io/dockercfg', 'stringData: {.dockercfg: hunter2}'),
      '5:26 error stringData[.dockercfg] Invalid value: "<not shown>": must be a JSON object',
    ],
    [
      'needs a key for SSH',
      secret('type: kubernetes.io/ssh-auth', 'data: {}'),
      '5:1 error data[ssh-privatekey] Required value: a Secret of type kubernetes.io/ssh-auth needs it',
    ],
    [
      'needs an account for its token',
      secret('type: kubernetes.io/service-account-token'),
      '3:1 error metadata.annotations[kubernetes.io/service-account.name] Required value: a Secret of type kubernetes.io/service-account-token needs it',
    ],
  ])('%s', (_what, text, problem) => {
    expect(loadedManifests(text)).toEqual({ pods: [], configObjects: [], problems: [problem] });
  });

  test('names all keys that a type needs', () => {
    expect(loadedManifests(secret('type: kubernetes.io/tls')).problems).toEqual([
      '1:1 error data[tls.crt] Required value: a Secret of type kubernetes.io/tls needs it',
      '1:1 error data[tls.key] Required value: a Secret of type kubernetes.io/tls needs it',
    ]);
    expect(loadedManifests(secret('type: kubernetes.io/basic-auth')).problems).toEqual([
      '1:1 error data[username] Required value: a Secret of type kubernetes.io/basic-auth needs it',
      '1:1 error data[password] Required value: a Secret of type kubernetes.io/basic-auth needs it',
    ]);
    expect(loadedManifests(secret('type: kubernetes.io/basic-auth', 'stringData: {username: u}')).problems).toEqual([]);
  });
});

test.each([
  [secret('strngData: {a: b}'), 'Did you mean "stringData"?'],
  [
    secret('data: {a: hunter2!}'),
    'Encode it with base64, or put plain text into stringData (Secret) or data (ConfigMap).',
  ],
  [secret('stringData: {a: 1234}'), 'Put it in quotes.'],
  [configMap('data: {a: 1234}'), 'Put it in quotes: "1234".'],
  [configMap('data: {a: on}'), 'Put it in quotes: YAML reads y, n, yes, no, on and off as true or false, too.'],
  [configMap().replace('web', 'My_Config'), 'Did you mean "my-config"?'],
])('what to do about\n%s', (text, hint) => {
  expect(loadManifests(text, loadOptions).problems.map((problem) => problem.hint)).toEqual([hint]);
});

test.each([
  secret('stringData: {password: 271828182}'),
  secret('stringData: {password: [271828182]}'),
  secret('stringData: 271828182'),
  secret('stringData: "271828182"'),
  secret('data: {password: "271828182!"}'),
  secret('data: {password: 271828182}'),
  secret('data: "271828182"'),
  secret('stringData: {password: !!int a271828182}'),
  secret('stringData: {password: "271828182}'),
  secret('stringData: {password: 271828182', '- a'),
  secret('type: kubernetes.io/dockercfg', 'stringData: {.dockercfg: "271828182"}'),
  secret('immutable: "271828182"'),
])('no problem of a Secret tells its value:\n%s', (text) => {
  const { problems } = loadManifests(text, loadOptions);
  expect(problems).not.toEqual([]);
  expect(JSON.stringify(problems)).not.toContain('2718');
});

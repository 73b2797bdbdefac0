import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { loadManifests, type LoadManifestsOptions } from '../../src/api/load-manifests.ts';
import { loadPod } from '../../src/api/load-pod.ts';

const options: LoadManifestsOptions = {
  nodeName: 'edge1',
  source: 'file',
  origin: '/manifests/all.yaml',
  hash: (text) => createHash('sha256').update(text).digest('hex'),
};

function podText(name: string): string {
  return `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: main, image: app:1}]}\n`;
}

/** Names of the pods, and problems without their origin. */
function summary(text: string, more: Partial<LoadManifestsOptions> = {}) {
  const { pods, problems } = loadManifests(text, { ...options, ...more });
  return {
    pods: pods.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    problems: problems.map(({ line, column, field, message, severity }) =>
      [`${line ?? ''}:${column ?? ''}`, severity, field ?? '', message].join(' '),
    ),
  };
}

describe('one single pod', () => {
  test.each([
    ['a good pod', podText('web')],
    ['a pod with warnings', `${podText('web')}specs: {}\n`],
    ['a broken pod', podText('Web').replace('main', 'MAIN')],
    ['a pod without a name', podText('""')],
    ['a wrong type', podText('web').replace('app:1', '5')],
    ['another version', podText('web').replace('v1', 'v2')],
    ['no apiVersion', podText('web').replace('apiVersion: v1\n', '')],
    ['broken YAML', `${podText('web')}}`],
    [
      'JSON',
      '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}',
    ],
  ])('of %s is what loadPod makes of it', (_what, text) => {
    const { pod, problems } = loadPod(text, options);
    expect(loadManifests(text, options)).toEqual({ pods: pod ? [pod] : [], configObjects: [], problems });
  });
});

describe('several documents', () => {
  test('are read one by one, empty ones left out', () => {
    const text = ['# two pods', '---', podText('a'), '---', '# nothing', '---', '', '---', podText('b'), '...'].join(
      '\n',
    );
    expect(summary(text)).toEqual({ pods: ['default/a-edge1', 'default/b-edge1'], problems: [] });
  });
});

describe('workloads', () => {
  test('are reduced to one pod, and say what is lost', () => {
    const text = [
      'apiVersion: apps/v1',
      'kind: Deployment',
      'metadata: {name: web, namespace: shop}',
      'spec:',
      '  replicas: 3',
      '  selector: {matchLabels: {app: web}}',
      '  strategy: {type: Recreate}',
      '  template:',
      '    metadata: {labels: {app: web}}',
      '    spec: {containers: [{name: main, image: app:1}]}',
    ].join('\n');
    expect(summary(text)).toEqual({
      pods: ['shop/web-edge1'],
      problems: [
        '2:7 warning kind A Deployment runs here as one pod of its template; ignored: selector, strategy',
        '5:13 warning spec.replicas One pod runs here, not 3',
      ],
    });
  });
});

describe('ConfigMaps and Secrets', () => {
  test('give their values in bytes', () => {
    const text = [
      'apiVersion: v1',
      'kind: Secret',
      'metadata: {name: keys}',
      'data: {a: b25l, b: dHdv}',
      'stringData: {b: three}',
    ].join('\n');
    expect(loadManifests(text, options)).toEqual({
      pods: [],
      configObjects: [
        {
          kind: 'Secret',
          namespace: 'default',
          name: 'keys',
          data: new Map([
            ['a', Uint8Array.from(Buffer.from('one'))],
            ['b', Uint8Array.from(Buffer.from('three'))],
          ]),
          binaryData: new Map(),
          type: 'Opaque',
          immutable: false,
        },
      ],
      problems: [],
    });
  });
});

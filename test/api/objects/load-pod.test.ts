import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { podUID, toStaticPod } from '../../../src/api/objects/static-pod.ts';
import type { RawPod } from '../../../src/api/types.ts';
import { decodeManifest, loadPod } from '../../builders/load-pod.ts';

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
const options = { nodeName: 'Edge1', source: 'file', origin: '/manifests/web.yaml', hash } as const;

function rawPod(text: string): RawPod {
  const { pod } = decodeManifest(text, options.origin);
  if (!pod) throw new Error('the manifest of this test is broken');
  return pod;
}

describe('loadPod', () => {
  test.each([
    [1000, 0, undefined],
    [999, 1, undefined],
    [1000, 1, 'spec.containers'],
    [1, 1000, 'spec.initContainers'],
    [10_000, 0, 'spec.containers'],
  ])('refuses a pod of more than 1000 containers at once (%i and %i init containers)', (containers, inits, field) => {
    const some = (count: number, prefix: string): object[] =>
      Array.from({ length: count }, (_, index) => ({ name: `${prefix}${index}`, image: 'app:1' }));
    const spec = { containers: some(containers, 'c'), initContainers: some(inits, 'i') };
    const text = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec });
    const { problems } = loadPod(text, { ...options, nodeName: 'edge1' });
    const message = `A pod may have 1000 containers, and this one has ${containers + inits}`;
    expect(problems.map((problem) => [problem.field, problem.message])).toEqual(
      field === undefined ? [] : [[field, message]],
    );
  });

  test('gives what is wrong with a pod the line of the field, or of its nearest ancestor', () => {
    const text = [
      'apiVersion: v1',
      'kind: Pod',
      'metadata: {name: web}',
      'spec:',
      '  restartPolicy: Sometimes',
      '  containers:',
      '  - name: c',
      '    ports:',
      '    - containerPort: 70000',
    ].join('\n');
    const { pod, problems } = loadPod(text, { ...options, nodeName: 'edge1' });
    expect(pod).toBeUndefined();
    expect(problems.map(({ column, field, line, message }) => ({ column, field, line, message }))).toEqual([
      { line: 7, column: 5, field: 'spec.containers[0].image', message: 'Required value: must be set' },
      {
        line: 9,
        column: 22,
        field: 'spec.containers[0].ports[0].containerPort',
        message: 'Invalid value: 70000: must be between 1 and 65535',
      },
      {
        line: 5,
        column: 18,
        field: 'spec.restartPolicy',
        message: 'Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
      },
    ]);
  });

  test.each(['../../etc', '..', '.', 'a/b', 'a b', 'a'.repeat(129)])(
    'refuses the UID "%s", which folders are named by',
    (uid) => {
      const text = `apiVersion: v1\nkind: Pod\nmetadata: {name: web, uid: "${uid}"}\nspec: {containers: [{name: a, image: b}]}`;
      expect(loadPod(text, { ...options, nodeName: 'edge1' }).problems).toMatchObject([
        { field: 'metadata.uid', line: 3, severity: 'error' },
      ]);
    },
  );

  test('gives an image volume a pull policy, as a container', () => {
    const text = (tag: string): string =>
      `apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: a, image: b}]\n  volumes: [{name: v, image: {reference: "c:${tag}"}}]`;
    const policies = ['1', 'latest'].map(
      (tag) => loadPod(text(tag), { ...options, nodeName: 'edge1' }).pod?.spec.volumes?.[0]?.image?.pullPolicy,
    );
    expect(policies).toEqual(['IfNotPresent', 'Always']);
  });

  test('refuses an annotation of tolerations that are none', () => {
    const annotations = { 'scheduler.alpha.kubernetes.io/tolerations': '[{"key": 5}]' };
    const spec = { containers: [{ name: 'c', image: 'i' }] };
    const text = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', annotations }, spec });
    expect(loadPod(text, { ...options, nodeName: 'edge1' }).problems).toEqual([
      {
        origin: options.origin,
        line: 1,
        column: 58,
        field: 'metadata.annotations',
        message: 'Invalid value: "scheduler.alpha.kubernetes.io/tolerations": must be a JSON list of tolerations',
        severity: 'error',
      },
    ]);
  });

  test('needs a name', () => {
    expect(loadPod('apiVersion: v1\nkind: Pod\nmetadata:\n  labels: {}\n', options).problems[0]).toEqual({
      origin: options.origin,
      line: 3,
      column: 1,
      field: 'metadata.name',
      message: 'A name is needed',
      severity: 'error',
    });
  });

  test('refuses resource claims, which need an API server', () => {
    const text =
      'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: a, image: b}]\n' +
      '  resourceClaims: [{name: gpu, resourceClaimName: gpu}]';
    const { pod, problems } = loadPod(text, { ...options, nodeName: 'edge1' });
    expect(pod).toBeUndefined();
    expect(problems).toMatchObject([
      {
        line: 6,
        field: 'spec.resourceClaims',
        message: 'Forbidden: static pods cannot use this, as it needs an API server',
        severity: 'error',
      },
    ]);
  });

  test('says what a pod asks for in vain', () => {
    const text = [
      'apiVersion: v1',
      'kind: Pod',
      'metadata: {name: web}',
      'spec:',
      '  containers: [{name: c, image: b}]',
      '  volumes:',
      '  - name: data',
      '    flocker: {datasetName: a}',
    ].join('\n');
    const { pod, problems } = loadPod(text, { ...options, nodeName: 'edge1' });
    expect(pod?.metadata.name).toBe('web-edge1');
    expect(problems).toMatchObject([{ line: 8, column: 5, field: 'spec.volumes[0].flocker', severity: 'warning' }]);
  });

  test('warns of the mark that keeps a pod from being run', () => {
    const text = [
      'apiVersion: v1',
      'kind: Pod',
      'metadata:',
      '  name: web',
      '  annotations:',
      '    kubernetes.io/config.mirror: x',
      'spec: {containers: [{name: c, image: b}]}',
    ].join('\n');
    expect(loadPod(text, { ...options, nodeName: 'edge1' }).problems).toEqual([
      {
        origin: options.origin,
        line: 6,
        column: 34,
        field: 'metadata.annotations[kubernetes.io/config.mirror]',
        message:
          'kubernetes.io/config.mirror marks what an API server has in place of a static pod: the pod will not start',
        hint: 'Remove the annotation.',
        severity: 'warning',
      },
    ]);
  });
});

describe('toStaticPod', () => {
  const raw = rawPod('{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[]}}');

  test('names and places a pod of a file on the node', () => {
    const uid = podUID(raw, options);
    expect(toStaticPod(raw, options)).toMatchObject({
      metadata: { name: 'web-edge1', namespace: 'default', uid, annotations: { 'kubernetes.io/config.hash': uid } },
      spec: { nodeName: 'Edge1', tolerations: [{ operator: 'Exists', effect: 'NoExecute' }] },
      status: { phase: 'Pending' },
    });
  });

  test('adds no toleration to a pod of a URL', () => {
    expect(toStaticPod(raw, { ...options, source: 'http' }).spec.tolerations).toBeUndefined();
  });

  test('keeps the UID a manifest gives, and what is known of its status', () => {
    const given = { ...raw, metadata: { name: 'web', uid: 'u' }, status: { phase: 'Running', podIP: '192.0.2.1' } };
    expect(toStaticPod(given, options)).toMatchObject({
      metadata: { uid: 'u', annotations: { 'kubernetes.io/config.hash': 'u' } },
      status: { phase: 'Pending', podIP: '192.0.2.1' },
    });
  });
});

describe('podUID', () => {
  const yaml = 'apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  labels: {a: x, b: v}\n';
  const uid = podUID(rawPod(yaml), options);

  test('is 32 hex digits', () => {
    expect(uid).toMatch(/^[0-9a-f]{32}$/);
  });

  test.each([
    ['comments', `# a web server\n${yaml}`],
    ['the order of fields', 'kind: Pod\napiVersion: v1\nmetadata:\n  labels: {b: v, a: x}\n  name: web\n'],
    ['YAML or JSON', '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"a":"x","b":"v"}}}'],
  ])('does not depend on %s', (_what, text) => {
    expect(podUID(rawPod(text), options)).toBe(uid);
  });

  test.each([
    ['a value', rawPod(yaml.replace('v}', 'w}')), options],
    ['the node', rawPod(yaml), { ...options, nodeName: 'edge2' }],
    ['the origin', rawPod(yaml), { ...options, origin: '/manifests/other.yaml' }],
  ])('changes with %s', (_what, raw, changed) => {
    expect(podUID(raw, changed)).not.toBe(uid);
  });
});

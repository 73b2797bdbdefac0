import { expect, test } from 'vitest';
import { publicNames, secretsOf } from '../../../src/engine/redaction/declared-secrets.ts';
import { makeConfigMap, makeSecret } from '../../builders/config-objects.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';

test('values are hidden of Secrets, and of no ConfigMap', () => {
  const values = secretsOf([makeSecret('login', { a: 'one', b: 'two' }), makeConfigMap('settings', { c: 'three' })]);
  expect(values.map((value) => Buffer.from(value).toString())).toEqual(['one', 'two']);
});

test('names of a pod, its containers, volumes, namespace, node and images are public', () => {
  const pod = makeStaticPod('web', {
    spec: {
      nodeName: 'edge1',
      initContainers: [{ name: 'setup', image: 'setup:1' }],
      containers: [{ name: 'main', image: 'app:1' }],
      volumes: [{ name: 'disk', emptyDir: {} }],
    },
  });
  const { name, namespace } = pod.metadata;
  expect(publicNames([pod])).toEqual([name, namespace, 'edge1', 'disk', 'setup', 'setup:1', 'main', 'app:1']);
});

import { expect, test } from 'vitest';
import { configObjectReferences } from '../../../src/api/values/config-object-references.ts';
import { makePod } from '../../builders/pods.ts';

test('a pod refers to objects by variables, volumes and pull secrets, each once', () => {
  const pod = makePod();
  pod.spec.initContainers = [
    { name: 'init', envFrom: [{ configMapRef: { name: 'a' } }, { secretRef: { name: 'b' } }] },
  ];
  pod.spec.containers = [
    {
      name: 'app',
      env: [
        { name: 'PLAIN', value: '1' },
        { name: 'C', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } },
        { name: 'D', valueFrom: { secretKeyRef: { name: 'd', key: 'k' } } },
        { name: 'AGAIN', valueFrom: { configMapKeyRef: { name: 'a', key: 'k' } } },
      ],
    },
  ];
  pod.spec.volumes = [
    { name: 'e', configMap: { name: 'e' } },
    { name: 'f', secret: { secretName: 'f' } },
    {
      name: 'g',
      projected: { sources: [{ configMap: { name: 'g' } }, { secret: { name: 'h' } }, { downwardAPI: {} }] },
    },
  ];
  pod.spec.imagePullSecrets = [{ name: 'i' }];
  const { namespace } = pod.metadata;
  expect(configObjectReferences(pod)).toEqual(
    [
      ...['ConfigMap/a', 'Secret/b', 'ConfigMap/c', 'Secret/d', 'ConfigMap/e', 'Secret/f', 'ConfigMap/g', 'Secret/h'],
      'Secret/i',
    ].map((key) => key.replace('/', `/${namespace}/`)),
  );
});

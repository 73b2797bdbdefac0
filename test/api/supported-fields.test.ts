import { expect, test } from 'vitest';
import { unsupportedFields } from '../../src/api/supported-fields.ts';

test('names every field of a pod that is not carried out, by its path', () => {
  const fields = unsupportedFields({
    spec: {
      runtimeClassName: 'kata',
      containers: [
        { name: 'a' },
        {
          name: 'b',
          env: [{ name: 'B', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }],
          lifecycle: { preStop: { sleep: { seconds: 1 } } },
          volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 'x' }],
        },
      ],
      volumes: [
        { name: 'v', emptyDir: {} },
        { name: 'w', csi: { driver: 'd' } },
        { name: 'x', projected: { sources: [{ secret: {} }, { serviceAccountToken: { path: 't' } }] } },
      ],
    },
  });
  expect(fields.map(({ field }) => field)).toEqual([
    'spec.runtimeClassName',
    'spec.volumes[2].projected.sources[1].serviceAccountToken',
    'spec.volumes[1].csi',
    'spec.containers[1].volumeMounts[0].subPath',
  ]);
});

test('has nothing to say about a pod that is carried out whole', () => {
  expect(unsupportedFields({ spec: { containers: [{ name: 'a', image: 'b' }] } })).toEqual([]);
});

test('says nothing of a field that a feature gate switches on', () => {
  const pod = { spec: { containers: [], volumes: [{ name: 'v', image: { reference: 'a' } }] } };
  expect(unsupportedFields(pod).map(({ field }) => field)).toEqual(['spec.volumes[0].image']);
  expect(unsupportedFields(pod, { ImageVolume: true })).toEqual([]);
});

import { expect, test } from 'vitest';
import { defaultFeatureGates } from '../../../src/api/values/feature-gates.ts';
import { unsupportedFields } from '../../../src/api/objects/supported-fields.ts';

test('names every unsupported field of a pod by its path', () => {
  const fields = unsupportedFields({
    spec: {
      containers: [
        { name: 'a' },
        {
          name: 'b',
          env: [{ name: 'B', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }],
          lifecycle: { preStop: { sleep: { seconds: 1 } } },
          volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 'x' }],
          volumeDevices: [{ name: 'd', devicePath: '/dev/d' }],
        },
      ],
      volumes: [
        { name: 'v', emptyDir: {} },
        { name: 'w', fc: {} },
        { name: 'x', projected: { sources: [{ secret: {} }, { serviceAccountToken: { path: 't' } }] } },
      ],
    },
  });
  expect(fields.map(({ field }) => field)).toEqual([
    'spec.volumes[2].projected.sources[1].serviceAccountToken',
    'spec.volumes[1].fc',
    'spec.containers[1].volumeDevices[0]',
  ]);
});

test('reports nothing for a fully supported pod', () => {
  expect(unsupportedFields({ spec: { containers: [{ name: 'a', image: 'b' }] } })).toEqual([]);
});

test('names a field that waits for a feature gate only where the gate is off', () => {
  const pod = { spec: { hostUsers: false, resources: { limits: { cpu: '1' } }, containers: [] } };
  const off = { ...defaultFeatureGates, PodLevelResources: false };
  expect(unsupportedFields(pod, off)).toEqual([
    {
      field: 'spec.resources',
      message: 'needs the feature gate PodLevelResources: the pod will not start',
      severity: 'warning',
    },
  ]);
  expect(unsupportedFields(pod)).toEqual([]);
});

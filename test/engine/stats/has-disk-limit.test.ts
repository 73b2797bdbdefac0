import { expect, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import { hasDiskLimit } from '../../../src/engine/stats/has-disk-limit.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';

const podWith = (resources: object, volume: object): Pod =>
  makeStaticPod('web', {
    spec: {
      containers: [
        { name: 'main', image: 'app:1' },
        { name: 'side', image: 'app:1', resources },
      ],
      volumes: [{ name: 'cache', ...volume }],
    },
  });

test.each([
  ['a limit of ephemeral-storage', podWith({ limits: { 'ephemeral-storage': '1Gi' } }, {}), true],
  ['a sizeLimit', podWith({}, { emptyDir: { sizeLimit: '1Gi' } }), true],
  ['a request alone', podWith({ requests: { 'ephemeral-storage': '1Gi' } }, { emptyDir: {} }), false],
  ['another limit', podWith({ limits: { memory: '1Gi' } }, { emptyDir: {} }), false],
])('a pod with %s has a limit on disk or not', (_what, pod, expected) => {
  expect(hasDiskLimit(pod)).toBe(expected);
});

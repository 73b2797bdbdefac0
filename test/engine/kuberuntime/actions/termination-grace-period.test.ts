import { expect, test } from 'vitest';
import {
  containerGracePeriodSeconds,
  remainingGracePeriodSeconds,
} from '../../../../src/engine/kuberuntime/actions/termination-grace-period.ts';
import { makeContainer, makePod } from '../../../builders/pods.ts';

const probed = makeContainer({ livenessProbe: { exec: { command: ['true'] }, terminationGracePeriodSeconds: 5 } });

test('a container that failed its probe gets the grace period of the probe', () => {
  const pod = makePod({ spec: { terminationGracePeriodSeconds: 30 } });
  expect(containerGracePeriodSeconds(pod, probed, 'LivenessProbe')).toBe(5);
  expect(containerGracePeriodSeconds(pod, probed, '')).toBe(30);
});

test('whoever asks for a grace period gets it', () => {
  const pod = makePod({ spec: { terminationGracePeriodSeconds: 30 } });
  expect(containerGracePeriodSeconds(pod, probed, 'LivenessProbe', 1)).toBe(1);
});

test('only whole seconds are taken off, and two are always left', () => {
  expect(remainingGracePeriodSeconds(30, 1_999)).toBe(29);
  expect(remainingGracePeriodSeconds(3, 60_000)).toBe(2);
});

import { expect, test } from 'vitest';
import type { PodSpec } from '../../../src/api/types.ts';
import { alwaysRestarts } from '../../../src/api/values/restart-rules.ts';
import { makeContainer } from '../../builders/pods.ts';

const main = makeContainer();

test.each<[string, PodSpec, boolean]>([
  ['a pod that always restarts', { restartPolicy: 'Always', containers: [main] }, true],
  ['a pod with a container that may end', { containers: [main, { ...main, restartPolicy: 'OnFailure' }] }, false],
  ['a pod that may end', { restartPolicy: 'OnFailure', containers: [main] }, false],
  [
    'a pod whose containers all have their own policy',
    { restartPolicy: 'Never', containers: [{ ...main, restartPolicy: 'Always' }] },
    true,
  ],
  [
    'a pod that a failed init container ends',
    { initContainers: [{ ...main, restartPolicy: 'Never' }], containers: [main] },
    false,
  ],
  [
    'a pod whose init containers are tried again',
    { initContainers: [main, { ...main, restartPolicy: 'OnFailure' }], containers: [main] },
    true,
  ],
])('%s runs until it is stopped: %#', (_title, spec, expected) => {
  expect(alwaysRestarts(spec)).toBe(expected);
});

import { expect, test } from 'vitest';
import { isRecursivelyReadOnly } from '../../../../src/engine/kuberuntime/container-mounts.ts';

const resolve = (mode: string | undefined, more: object, support: object): boolean =>
  isRecursivelyReadOnly(
    {
      name: 'data',
      mountPath: '/data',
      readOnly: true,
      ...(mode !== undefined && { recursiveReadOnly: mode }),
      ...more,
    },
    { isEnabled: true, isSupported: true, ...support },
  );

test.each([
  [undefined, {}, {}, false],
  ['Disabled', {}, {}, false],
  ['Disabled', { readOnly: false }, {}, false],
  ['IfPossible', {}, {}, true],
  ['IfPossible', { mountPropagation: 'None' }, {}, true],
  ['IfPossible', {}, { isSupported: false }, false],
  ['IfPossible', {}, { isSupported: false, isEnabled: false }, false],
  ['Enabled', {}, {}, true],
])('mode %s of a mount %j with %j is %s', (mode, more, support, expected) => {
  expect(resolve(mode, more, support)).toBe(expected);
});

const requested =
  'failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not';

test.each([
  ['Enabled', {}, { isSupported: false }, `${requested} supported by the runtime`],
  ['Enabled', { readOnly: false }, {}, `${requested} read-only`],
  [
    'IfPossible',
    { mountPropagation: 'HostToContainer' },
    {},
    `${requested} compatible with propagation "HostToContainer"`,
  ],
  [
    'Enabled',
    {},
    { isEnabled: false },
    'recursive read-only mount needs feature gate "RecursiveReadOnlyMounts" to be enabled',
  ],
])('mode %s of a mount %j with %j is refused', (mode, more, support, message) => {
  expect(() => resolve(mode, more, support)).toThrow(message);
});

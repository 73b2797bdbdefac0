import { expect, test } from 'vitest';
import { isRecursivelyReadOnly } from '../../../../src/engine/kuberuntime/container-mounts.ts';

const resolve = (mode: string | undefined, more: object, isSupported: boolean): boolean =>
  isRecursivelyReadOnly(
    {
      name: 'data',
      mountPath: '/data',
      readOnly: true,
      ...(mode !== undefined && { recursiveReadOnly: mode }),
      ...more,
    },
    isSupported,
  );

test.each([
  [undefined, {}, true, false],
  ['Disabled', {}, true, false],
  ['Disabled', { readOnly: false }, true, false],
  ['IfPossible', {}, true, true],
  ['IfPossible', { mountPropagation: 'None' }, true, true],
  ['IfPossible', {}, false, false],
  ['Enabled', {}, true, true],
])('mode %s of a mount %j with support %s is %s', (mode, more, isSupported, expected) => {
  expect(resolve(mode, more, isSupported)).toBe(expected);
});

const requested =
  'failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not';

test.each([
  ['Enabled', {}, false, `${requested} supported by the runtime`],
  ['Enabled', { readOnly: false }, true, `${requested} read-only`],
  [
    'IfPossible',
    { mountPropagation: 'HostToContainer' },
    true,
    `${requested} compatible with propagation "HostToContainer"`,
  ],
])('mode %s of a mount %j with support %s is refused', (mode, more, isSupported, message) => {
  expect(() => resolve(mode, more, isSupported)).toThrow(message);
});

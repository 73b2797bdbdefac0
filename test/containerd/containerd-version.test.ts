import { expect, test } from 'vitest';
import { isAtLeast, parseContainerdVersion } from '../../src/containerd/containerd-version.ts';

test.each([
  [
    'Debian 12',
    'containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3',
    [1, 6, 20, '1.6.20~ds1'],
  ],
  ['Debian sid', 'containerd github.com/containerd/containerd/v2 2.1.9+unknown ', [2, 1, 9, '2.1.9+unknown']],
  ['Docker', 'containerd containerd.io 1.7.27 05044ec0a9a75232cad458027ca83437aae3f4da\n', [1, 7, 27, '1.7.27']],
  ['upstream', 'containerd github.com/containerd/containerd/v2 v2.0.0-rc.1 abc', [2, 0, 0, 'v2.0.0-rc.1']],
] as const)('reads the version of a build by %s', (_, output, [major, minor, patch, text]) => {
  expect(parseContainerdVersion(output)).toEqual({ major, minor, patch, text });
});

test.each(['', 'runc version 1.1.5', 'containerd github.com/containerd/containerd unknown'])(
  'reads no version from %j',
  (output) => {
    expect(parseContainerdVersion(output)).toBeUndefined();
  },
);

test.each([
  [1, 7, true],
  [1, 6, true],
  [0, 9, true],
  [1, 8, false],
  [2, 0, false],
])('1.7 compared with %i.%i', (major, minor, expected) => {
  expect(isAtLeast({ major: 1, minor: 7 }, major, minor)).toBe(expected);
});

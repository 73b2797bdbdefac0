import { describe, expect, test } from 'vitest';
import { expandSubPath, expandSubPathExpr } from '../../../../src/engine/kuberuntime/container-mounts.ts';

const envs = [
  { name: 'POD', value: 'web-edge1' },
  { name: 'EMPTY', value: '' },
  { name: 'UP', value: '../..' },
  { name: 'ROOT', value: '/etc' },
];

const expanded = (mount: { subPath?: string; subPathExpr?: string }): string =>
  expandSubPath({ name: 'data', mountPath: '/data', ...mount }, envs);

describe('the part of a volume that a mount is about', () => {
  test.each([
    [{}, ''],
    [{ subPath: '', subPathExpr: '' }, ''],
    [{ subPath: 'a/b' }, 'a/b'],
    [{ subPath: '$(POD)' }, '$(POD)'],
    [{ subPathExpr: 'logs/$(POD)' }, 'logs/web-edge1'],
    [{ subPathExpr: '$$(POD)/$(POD' }, '$(POD)/$(POD'],
    [{ subPath: '..a/b..' }, '..a/b..'],
  ])('%j is %j', (mount, path) => {
    expect(expanded(mount)).toBe(path);
  });

  test.each([
    [{ subPathExpr: '$(NONE)' }, 'missing value for NONE'],
    [{ subPathExpr: '$(POD)/$(NONE)/$(EMPTY)/$(NONE)' }, 'missing value for EMPTY, NONE'],
    [{ subPathExpr: 'a/$(UP)' }, "unable to provision SubPath `a/../..`: must not contain '..'"],
    [{ subPath: '..' }, "unable to provision SubPath `..`: must not contain '..'"],
    [{ subPathExpr: '$(ROOT)' }, 'error SubPath `/etc` must not be an absolute path'],
  ])('%j is refused: %s', (mount, message) => {
    expect(() => expanded(mount)).toThrow(message);
  });
});

test.each([
  ['$(ROOT)', '/etc'],
  ['../x', '../x'],
  ['x/$(UP)/y', 'x/../../y'],
])('the expansion alone of %s is %s', (subPathExpr, path) => {
  expect(expandSubPathExpr(subPathExpr, envs)).toBe(path);
});

import { describe, expect, test } from 'vitest';
import {
  cycleOf,
  cycleText,
  dependsOn,
  findDependency,
  validateDependsOn,
} from '../../../src/api/values/depends-on.ts';
import type { Pod } from '../../../src/api/types.ts';
import { loadedManifests, podText } from '../../builders/loaded-manifests.ts';
import { podAfter } from '../../builders/pod-after.ts';

describe('the pods that a pod waits for', () => {
  test.each([
    ['none', '', []],
    ['none but white space', '  ', []],
    ['one', 'etcd', ['default/etcd']],
    [
      'several with space between',
      ' etcd , kube-system/dns,db-edge1',
      ['default/etcd', 'kube-system/dns', 'default/db-edge1'],
    ],
    ['one twice', 'etcd,default/etcd', ['default/etcd']],
  ])('are %s', (_what, text, expected) => {
    expect(dependsOn(podAfter('app', text))).toEqual(expected);
  });

  test('are found by the name in their manifest, and else by the whole name', () => {
    const short = podAfter('db', '');
    const long = podAfter('db-edge1', '');
    const elsewhere = podAfter('db', '', { namespace: 'kube-system' });
    expect(findDependency('default/db', [long, elsewhere, short])).toBe(short);
    expect(findDependency('default/db-edge1', [short])).toBe(short);
    expect(findDependency('default/db-edge1', [short, long])).toBe(long);
    expect(findDependency('kube-system/db', [short, elsewhere])).toBe(elsewhere);
    expect(findDependency('default/other', [short, long])).toBeUndefined();
  });
});

describe('a cycle', () => {
  const textOf = (pod: Pod, pods: readonly Pod[]): string | undefined => {
    const cycle = cycleOf(pod, pods);
    return cycle && cycleText(cycle);
  };

  test('is distinguished from each of its pods, the shortest way', () => {
    const a = podAfter('a', 'b');
    const b = podAfter('b', 'c,a-edge1');
    const c = podAfter('c', 'a');
    const pods = [a, b, c];
    expect(pods.map((pod) => textOf(pod, pods))).toEqual([
      'default/a waits for default/b, which waits for default/a',
      'default/b waits for default/a, which waits for default/b',
      'default/c waits for default/a, which waits for default/b, which waits for default/c',
    ]);
  });

  test('is none for who waits for it from outside, and none where ways only meet', () => {
    const pods = [podAfter('a', 'b'), podAfter('b', 'a'), podAfter('outside', 'a')];
    expect(cycleOf(podAfter('outside', 'a'), pods)).toBeUndefined();
    const diamond = [
      podAfter('top', 'left,right'),
      podAfter('left', 'end'),
      podAfter('right', 'end'),
      podAfter('end', ''),
    ];
    expect(diamond.map((pod) => cycleOf(pod, diamond))).toEqual([undefined, undefined, undefined, undefined]);
  });
});

describe('a manifest', () => {
  const withNames = (text: string): string =>
    podText('app').replace('{name: app}', `\n  name: app\n  annotations:\n    kubelet-ts.io/depends-on: ${text}`);

  test.each(['etcd', 'etcd,kube-system/dns', '""'])('may say %s', (names) => {
    expect(loadedManifests(withNames(names)).problems).toEqual([]);
    expect(validateDependsOn(podAfter('app', names.replaceAll('"', '')))).toEqual([]);
  });

  test.each([
    [
      'Etcd',
      'error metadata.annotations[kubelet-ts.io/depends-on] Invalid value: "Etcd": must consist of lower case letters',
    ],
    ['a/b/c', 'error metadata.annotations[kubelet-ts.io/depends-on] Invalid value: "a/b/c": must consist of'],
    ['/etcd', 'error metadata.annotations[kubelet-ts.io/depends-on] Invalid value: "/etcd": must'],
    ['"etcd,,db"', 'error metadata.annotations[kubelet-ts.io/depends-on] Invalid value: "": must'],
    [
      'other,app',
      'error metadata.annotations[kubelet-ts.io/depends-on] Invalid value: "other,app": a pod cannot wait for itself',
    ],
    [
      'app-edge1',
      'error metadata.annotations[kubelet-ts.io/depends-on] Invalid value: "app-edge1": a pod cannot wait for itself',
    ],
  ])('must not say %s', (names, problem) => {
    const { pods, problems } = loadedManifests(withNames(names));
    expect(pods).toEqual([]);
    expect(problems).toEqual([expect.stringContaining(`6:31 ${problem}`)]);
  });
});

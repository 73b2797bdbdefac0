import { expect, test } from 'vitest';
import { computeKeptPods, type EarlierPod } from '../../../src/engine/gc/compute-kept-pods.ts';

const pod = (uid: string, more: Partial<EarlierPod> = {}): EarlierPod => ({
  uid,
  source: 'file',
  isRunning: true,
  runsOnce: false,
  isDeclared: false,
  state: undefined,
  ...more,
});

/** The `other` manifest declares a pod that no earlier agent ran. */
test.each<[string, EarlierPod[], string[], 'other'?]>([
  ['none', [], []],
  ['undeclared ones alone', [pod('a'), pod('b', { source: 'http' }), pod('c', { source: undefined })], ['a', 'b', 'c']],
  ['one that is still declared', [pod('a'), pod('b', { isDeclared: true })], []],
  ['an ended one that is still declared', [pod('a'), pod('b', { isDeclared: true, isRunning: false })], ['a']],
  ['ended ones beside an undeclared one', [pod('a'), pod('b', { isRunning: false })], ['a', 'b']],
  ['ended ones alone', [pod('a', { isRunning: false }), pod('b', { isRunning: false, runsOnce: true })], ['b']],
  ['ended ones beside another manifest', [pod('a', { isRunning: false, runsOnce: true })], [], 'other'],
  ['undeclared ones beside another manifest', [pod('a')], ['a'], 'other'],
  [
    'an ended one beside a declared one',
    [pod('a', { isRunning: false }), pod('b', { isRunning: false, isDeclared: true })],
    [],
  ],
  ['one that was removed on purpose', [pod('a', { state: 'removed' })], []],
  ['a removed one beside an undeclared one', [pod('a', { state: 'removed' }), pod('b')], ['b']],
  ['an applied one', [pod('a', { source: 'applied' })], []],
  ['an applied one that is still declared', [pod('a', { source: 'applied', isDeclared: true }), pod('b')], ['b']],
  [
    'one that was kept before, and a declared one',
    [pod('a', { state: 'kept' }), pod('b', { isDeclared: true })],
    ['a'],
  ],
  ['one that was kept before and is declared now', [pod('a', { state: 'kept', isDeclared: true }), pod('b')], []],
])('of the pods of an earlier agent, %s', (_, earlier, kept, other) => {
  const declaresAny = other !== undefined || earlier.some(({ isDeclared }) => isDeclared);
  expect(computeKeptPods(earlier, declaresAny)).toEqual(kept);
});

import { describe, expect, test } from 'vitest';
import {
  type AwaitedPods,
  awaitedPods,
  awaitedPodsText,
  failedPullText,
  isFailedPullText,
  isStorageLimitText,
  storageLimitTexts,
} from '../../../src/engine/view/recognized-texts.ts';

describe('the pods that another one waits for are read from the text that names them:', () => {
  test.each<[string, AwaitedPods]>([
    ['', { unready: [], undeclared: [] }],
    ['Waiting for etcd to be Ready', { unready: ['etcd'], undeclared: [] }],
    [
      'Waiting for kube-system/dns, db.1, which no manifest declares',
      { unready: [], undeclared: ['kube-system/dns', 'db.1'] },
    ],
    [
      'Waiting for a, b to be Ready. Waiting for c, d, which no manifest declares',
      { unready: ['a', 'b'], undeclared: ['c', 'd'] },
    ],
  ])('%s', (text, pods) => {
    expect(awaitedPodsText(pods)).toBe(text);
    expect(awaitedPods(text)).toEqual(pods);
    expect(awaitedPods(`${text}; the revision before this one runs on until then`)).toEqual(pods);
  });
});

test.each([
  storageLimitTexts.emptyDir('cache', '5Mi'),
  storageLimitTexts.pod('30Mi'),
  storageLimitTexts.container('app', '10Mi'),
])('a limit of the pod itself is recognized: %s', (text) => {
  expect([isStorageLimitText(text), isStorageLimitText(text.trim())]).toEqual([true, true]);
});

test('a shortage of the node is no limit of the pod', () => {
  expect(isStorageLimitText('The node was low on resource: ephemeral-storage. ')).toBe(false);
});

test('a failed pull is recognized among the causes of the event Failed', () => {
  expect(failedPullText('app:1', 'no such host')).toBe('Failed to pull image "app:1": no such host');
  expect([failedPullText('app:1', 'no such host'), 'Error: ErrImagePull'].map(isFailedPullText)).toEqual([true, false]);
});

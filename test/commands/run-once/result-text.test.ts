import { expect, test } from 'vitest';
import { resultText, summaryMarkdown } from '../../../src/commands/run-once/result-text.ts';
import type { PodResult } from '../../../src/node/run-once/pod-result.ts';

const done: PodResult = {
  pod: 'default/a',
  outcome: 'completed',
  exitCode: 0,
  message: '',
  containers: [
    {
      name: 'app',
      state: 'ended',
      exitCode: 0,
      startedAt: '2026-03-01T10:00:00Z',
      finishedAt: '2026-03-01T10:00:03.200Z',
    },
  ],
};
const failed: PodResult = {
  pod: 'default/b',
  outcome: 'failed',
  exitCode: 4,
  message: 'container app exited with code 4',
  container: 'app',
  log: 'one\n\ntwo\n',
  containers: [],
};

test('one pod is a line', async () => {
  expect(await resultText([done], false)).toBe('default/a: completed\n');
});

test('several pods are a table, with the last lines of those that failed', async () => {
  expect(await resultText([done, failed], true)).toBe(
    [
      'POD         RESULT      EXIT   TIME   MESSAGE',
      'default/a   completed   0      3.2s',
      'default/b   failed      4             container app exited with code 4',
      'default/b, container app:',
      '  | one',
      '  | two',
      '',
    ].join('\n'),
  );
});

test('the page of a job shows texts of containers as they are, in its own table', () => {
  expect(summaryMarkdown([{ ...failed, message: 'a|b `c` <img>' }])).toBe(
    [
      '',
      '| POD | RESULT | EXIT | TIME | MESSAGE |',
      '| --- | --- | --- | --- | --- |',
      '| default/b | failed | 4 |  | a\\|b \\`c\\` \\<img\\> |',
      '',
    ].join('\n'),
  );
});

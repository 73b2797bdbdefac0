import { expect, test } from 'vitest';
import type { PodStatus } from '../../src/api/types.ts';
import { reasons } from '../../src/engine/view/reasons.ts';
import { headerLines } from '../../src/tui/header-lines.ts';
import { makeEntry, makeSnapshot, noon } from './make-snapshot.ts';

const statuses: Record<string, PodStatus> = {
  ready: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  unready: { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] },
  completed: { phase: 'Succeeded', conditions: [{ type: 'Ready', status: 'False' }] },
  failed: { phase: 'Failed', conditions: [{ type: 'Ready', status: 'False' }] },
  stopped: { phase: 'Failed', reason: reasons.stopped, conditions: [{ type: 'Ready', status: 'False' }] },
};

test.each([
  ['', 'pods 0/0 ready', 'green'],
  ['ready ready', 'pods 2/2 ready', 'green'],
  ['ready unready', 'pods 1/2 ready', 'yellow'],
  ['ready completed completed', 'pods 1/1 ready, 2 completed', 'green'],
  ['completed', 'pods 0/0 ready, 1 completed', 'green'],
  ['ready failed completed', 'pods 1/2 ready, 1 completed', 'yellow'],
  ['ready stopped', 'pods 1/1 ready, 1 stopped', 'green'],
  ['unready completed stopped', 'pods 0/1 ready, 1 completed, 1 stopped', 'yellow'],
])('with pods that are %j, the header says %j in %s', (words, text, color) => {
  const pods = words
    .split(' ')
    .filter((word) => word !== '')
    .map((word, index) => {
      const entry = makeEntry(`${word}-${index}`);
      return { ...entry, pod: { ...entry.pod, status: statuses[word] ?? {} } };
    });
  const spans = headerLines(makeSnapshot(pods), noon, 200, 2).flatMap((line) => line.spans);
  expect(spans.find((span) => span.text.startsWith('pods'))).toEqual({ text, color });
});

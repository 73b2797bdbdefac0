import { expect, test } from 'vitest';
import { restartCountFromLogFiles } from '../../../src/engine/kuberuntime/restart-count-from-logs.ts';

test('continues after the highest number, rotated logs included', () => {
  expect(restartCountFromLogFiles(['2.log', '3.log.20240101-000000.gz', 'notes.txt'])).toBe(4);
});

test('starts at zero without logs', () => {
  expect(restartCountFromLogFiles([])).toBe(0);
});

test('ignores a number that is too large to be a count', () => {
  expect(restartCountFromLogFiles(['99999999999999999999.log'])).toBe(0);
  expect(restartCountFromLogFiles(['99999999999999999999.log', '2.log'])).toBe(3);
});

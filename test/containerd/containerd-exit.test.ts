import { expect, test } from 'vitest';
import { lastLogLine } from '../../src/containerd/containerd-exit.ts';

const lastLines = ['level=info msg="loading"', 'level=fatal msg="no space left on device"'];

test('a containerd that failed says why in its last line', () => {
  expect(lastLogLine({ pid: 1, code: 1, signal: undefined, lastLines })).toEqual({ lastLine: lastLines[1] });
});

test('one that was killed says nothing of that', () => {
  expect(lastLogLine({ pid: 1, code: undefined, signal: 'SIGKILL', lastLines })).toEqual({});
  expect(lastLogLine({ pid: 1, code: 1, signal: undefined, lastLines: [] })).toEqual({});
});

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { containerLogsDirectory } from '../../../src/engine/container/log-paths.ts';
import { podResult, runExitCode } from '../../../src/node/run-once/pod-result.ts';
import { makeAPIContainerStatus, makePod } from '../../builders/pods.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const numbers = (first: number, last: number): string[] =>
  Array.from({ length: last - first + 1 }, (_, index) => String(first + index));
const text = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

test('a result has the last 20 lines of each container that failed or is not done', async () => {
  const pod = makePod({
    status: {
      phase: 'Running',
      containerStatuses: [
        makeAPIContainerStatus({ name: 'done', state: { terminated: { exitCode: 0 } } }),
        makeAPIContainerStatus({ name: 'failed', state: { terminated: { exitCode: 3 } } }),
        makeAPIContainerStatus({ name: 'runs', state: { running: {} } }),
      ],
    },
  });
  const podLogsDir = await temporaryFolder();
  for (const name of ['done', 'failed', 'runs']) {
    const folder = containerLogsDirectory(podLogsDir, pod.metadata, name);
    await mkdir(folder, { recursive: true });
    const lines = numbers(1, 25).map((number) => `2026-03-01T10:00:00.000000000Z stdout F ${name} ${number}`);
    await writeFile(join(folder, '0.log'), text(lines));
  }
  const outcome = { outcome: 'timed out', exitCode: 124, message: 'not done', container: 'runs' } as const;
  const lastOf = (name: string): string => text(numbers(6, 25).map((number) => `${name} ${number}`));
  expect(await podResult(pod, outcome, { podLogsDir, allLogs: false })).toEqual({
    pod: 'default/web-node1',
    ...outcome,
    log: lastOf('runs'),
    containers: [
      { name: 'done', state: 'ended', exitCode: 0 },
      { name: 'failed', state: 'ended', exitCode: 3, log: lastOf('failed') },
      { name: 'runs', state: 'running', log: lastOf('runs') },
    ],
  });
  const all = await podResult(pod, outcome, { podLogsDir, allLogs: true });
  expect(all.containers[0]).toEqual({ name: 'done', state: 'ended', exitCode: 0, log: lastOf('done') });
});

test.each([
  [[0, 0], undefined, true, 0],
  [[0, 4, 3], undefined, true, 4],
  [[0, 4], 0, true, 0],
  [[4, 0], 1, true, 0],
  [[0, 4], 1, false, 4],
  [[0, 0], undefined, false, 1],
  [[0, 4], 0, false, 1],
])(
  'pods with exit codes %j, of which number %j decides, all removed: %j, end with %i',
  (codes, index, isRemoved, code) => {
    const results = codes.map((exitCode) => ({ outcome: 'completed', exitCode, message: '' }) as const);
    expect(runExitCode(results, { deciding: results[index ?? -1], isRemoved })).toBe(code);
  },
);

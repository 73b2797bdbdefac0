import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { containerLogsDirectory } from '../../../src/engine/container/log-paths.ts';
import { podResult, runExitCode } from '../../../src/node/run-once/pod-result.ts';
import { makeAPIContainerStatus, makePod } from '../../builders/pods.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

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

const ended = (exitCode: number): { terminated: { exitCode: number } } => ({ terminated: { exitCode } });
const runs = { running: {} };

test.each([
  ['failed', 'ended by its retry', { state: ended(0), lastState: ended(4), restartCount: 1 }, 4, '0.log'],
  ['failed', 'waits for its restart', { state: {}, lastState: ended(4), restartCount: 2 }, 4, '2.log'],
  ['failed', 'runs again', { state: runs, lastState: ended(4), restartCount: 2 }, 4, '1.log'],
  ['completed', 'succeeded at its second try', { state: ended(0), lastState: ended(4), restartCount: 1 }, 0, '1.log'],
  ['completed', 'runs again', { state: runs, lastState: ended(0), restartCount: 1 }, 0, '0.log'],
  ['ready', 'crashed before', { state: runs, lastState: ended(4), restartCount: 1 }, undefined, '1.log'],
  ['not waited for', 'crashed', { state: runs, lastState: ended(4), restartCount: 3 }, undefined, '3.log'],
] as const)('of a pod that %s, a container that %s is reported as such', async (outcome, _what, status, code, file) => {
  const pod = makePod({ status: { containerStatuses: [makeAPIContainerStatus({ name: 'main', ...status })] } });
  const podLogsDir = await temporaryFolder();
  const folder = containerLogsDirectory(podLogsDir, pod.metadata, 'main');
  await mkdir(folder, { recursive: true });
  for (const attempt of [0, 1, 2, 3])
    await writeFile(join(folder, `${attempt}.log`), `2026-03-01T10:00:00.000000000Z stdout F ${attempt}.log\n`);
  const result = await podResult(pod, { outcome, exitCode: 0, message: '' }, { podLogsDir, allLogs: true });
  expect(result.containers).toEqual([
    code === undefined
      ? { name: 'main', state: 'running', log: `${file}\n` }
      : { name: 'main', state: 'ended', exitCode: code, log: `${file}\n` },
  ]);
});

test('a sidecar is marked', async () => {
  const proxy = { name: 'proxy', image: 'proxy:1', restartPolicy: 'Always' };
  const status = { initContainerStatuses: [makeAPIContainerStatus({ name: 'proxy', state: ended(137) })] };
  const pod = makePod({ spec: { initContainers: [proxy] }, status });
  const outcome = { outcome: 'completed', exitCode: 0, message: '' } as const;
  const result = await podResult(pod, outcome, { podLogsDir: await temporaryFolder(), allLogs: false });
  expect(result.containers).toEqual([{ name: 'proxy', sidecar: true, state: 'ended', exitCode: 137 }]);
});

test.each([
  [[0, 0], undefined, true, true, 0],
  [[0, 4, 3], undefined, true, true, 4],
  [[0, 4], 0, true, true, 0],
  [[4, 0], 1, true, true, 0],
  [[0, 4], 1, false, true, 4],
  [[0, 0], undefined, false, true, 1],
  [[0, 4], 0, false, true, 1],
  [[0, 4], undefined, true, false, 4],
  [[0, 0], undefined, true, false, 130],
])(
  'pods with exit codes %j, of which number %j decides, all removed: %j, all output shown: %j, end with %i',
  (codes, index, isRemoved, isShown, code) => {
    const results = codes.map((exitCode) => ({ outcome: 'completed', exitCode, message: '' }) as const);
    expect(runExitCode(results, { deciding: results[index ?? -1], isRemoved, isShown })).toBe(code);
  },
);

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { register } from '../../../src/commands/run-once.ts';
import { containerLogsDirectory } from '../../../src/engine/container/log-paths.ts';
import type { JobStatus } from '../../../src/engine/view/job-status.ts';
import type { WorkloadSnapshot } from '../../../src/engine/view/snapshot.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeEntry, makeSnapshot, noon } from '../../tui/make-snapshot.ts';
import { startFakeAgent } from '../fake-agent.ts';
import { makeDeps, makeRuntime } from '../runtime-listings.ts';

const status = { active: 0, ready: 0, succeeded: 0, failed: 1, terminating: 0, isSuspended: false };
const job = 'dump-run-t6c0zk';

interface Ran {
  stdout: string;
  stderr: string;
  exitCode: number | undefined;
  rootDir: string;
}

/** Runs `run-once` next to an agent whose CronJob `dump` has this run, and whose events end at once. */
async function runOnce(words: readonly string[], changes: Partial<JobStatus> = {}, exitCode = 3): Promise<Ran> {
  const rootDir = await temporaryFolder();
  const counts = { desired: 1, current: 1, ready: 0, available: 0, updated: 1 };
  const workload: WorkloadSnapshot = {
    ...{ kind: 'CronJob', namespace: 'default', name: 'dump', ...counts, conditions: [] },
    pods: [`${job}-edge1`],
    cronJob: { schedule: '@daily', isSuspended: false, jobs: [{ name: job, completions: 1, ...status, ...changes }] },
  };
  const ended = { containerState: { terminated: { exitCode } }, container: { containerID: 'containerd://c1' } };
  const pod = makeEntry(`${job}-edge1`, ended);
  await startFakeAgent(rootDir, {
    '/v1/snapshot': makeSnapshot([pod], { workloads: [workload] }),
    '/v1/workloads/CronJob/default/dump/run': { message: job },
  });
  const folder = containerLogsDirectory(join(rootDir, 'logs'), pod.pod.metadata, 'main');
  await mkdir(folder, { recursive: true });
  const lines = ['stdout F dumped', 'stderr F careful'].map((line) => `2026-03-01T10:00:00.000000000Z ${line}\n`);
  await writeFile(join(folder, '0.log'), lines.join(''));
  const deps = makeDeps(makeRuntime([], [], { logPaths: { c1: join(folder, '0.log') } }));
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  register(program, deps);
  const args = words.map((word) => word.replace('ROOT', rootDir));
  await program.parseAsync(['run-once', '--root-dir', rootDir, ...args], { from: 'user' });
  return { ...deps.printed, rootDir };
}

test.each([
  ['cronjob/dump', { result: 'Complete', finishedAt: noon } as const, 0, 'completed', 'completed'],
  [
    'cj/default/dump',
    { result: 'Failed', finishedAt: noon } as const,
    3,
    'failed: container main exited with code 3',
    'failed',
  ],
])(
  'run-once %s shows the output and exits with the result of the Job',
  async (word, changes, code, outcome, result) => {
    const { stdout, stderr, exitCode } = await runOnce([word], changes, code);
    expect({ stdout, exitCode }).toEqual({ stdout: 'dumped\n', exitCode: code });
    expect(stderr.split('\n').toSorted()).toEqual(
      [
        '',
        'careful',
        `default/${job}-edge1: ${outcome}`,
        `job.batch/${job} ${result}`,
        `job.batch/${job} created`,
      ].toSorted(),
    );
  },
);

test('run-once -o json and --junit report the pods of the Job', async () => {
  const words = ['cronjob/dump', '-o', 'json', '--junit', 'ROOT/report.xml'];
  const { stdout, rootDir } = await runOnce(words, { result: 'Failed', finishedAt: noon });
  const pod = `default/${job}-edge1`;
  expect(JSON.parse(stdout)).toMatchObject({ exitCode: 3, pods: [{ pod, outcome: 'failed', exitCode: 3 }] });
  expect(await readFile(join(rootDir, 'report.xml'), 'utf8')).toContain('container main exited with code 3');
});

test('a Job that failed without a failed container exits with 1', async () => {
  expect((await runOnce(['cronjob/dump'], { result: 'Failed', finishedAt: noon }, 0)).exitCode).toBe(1);
});

test.each([
  [['cronjob/nope'], 'cronjobs.batch "nope" not found'],
  [['deploy/web'], 'run-once runs manifests or a CronJob, and deploy/web is neither'],
  [['job/pi'], 'run-once runs manifests or a CronJob, and job/pi is neither'],
  [['cronjob/dump', 'pod.yaml'], 'name one CronJob, or manifests'],
  [['cronjob/dump', '--env', 'A=b'], '--env has no effect on a declared CronJob'],
  [['cronjob/dump'], `kubelet-ts exited before job ${job} had finished`],
])('run-once %j is refused', async (words, message) => {
  await expect(runOnce(words)).rejects.toMatchObject({ name: 'UserError', message });
});

import { Command } from 'commander';
import { expect, test } from 'vitest';
import { register } from '../../../src/commands/explain.ts';
import { explainWorkload } from '../../../src/commands/explain/explained-workload.ts';
import type { WorkloadCondition, WorkloadSnapshot } from '../../../src/engine/view/snapshot.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeEntry, makeSnapshot, noon } from '../../tui/make-snapshot.ts';
import { startFakeAgent } from '../fake-agent.ts';
import { makeDeps, makeRuntime } from '../runtime-listings.ts';

const counts = { desired: 3, current: 3, ready: 3, available: 3, updated: 3 };
const web: WorkloadSnapshot = {
  ...{ kind: 'Deployment', namespace: 'default', name: 'web', conditions: [], pods: ['web-edge1', 'web-1-edge1'] },
  ...counts,
};
const condition = (type: string, status: 'True' | 'False', reason: string): WorkloadCondition => ({
  type,
  status,
  reason,
  message: `${reason}.`,
});
const failed = condition('ReplicaFailure', 'True', 'OutOfcpu');
const late = condition('Progressing', 'False', 'ProgressDeadlineExceeded');
const paused = condition('Progressing', 'True', 'DeploymentPaused');
const job = { active: 1, ready: 1, succeeded: 1, failed: 0, terminating: 0, isSuspended: false, completions: 3 };
const cron = { schedule: '@daily', isSuspended: false, nextScheduleTime: noon + 7_200_000, jobs: [] };
const run = { name: 'dump-1', ...job, finishedAt: noon };

test.each<[string, Partial<WorkloadSnapshot>, boolean, string, string[]]>([
  ['a Deployment whose pods all run', {}, true, '3 of 3 pods are available', []],
  ['one without room', { available: 2, conditions: [failed] }, false, '2 of 3 pods are available', []],
  [
    'a late rollout',
    { updated: 1, conditions: [late] },
    false,
    '3 of 3 pods are available, 1 of them up to date',
    ['Go back to the earlier revision: kubelet-ts rollout undo deployment/web'],
  ],
  [
    'a paused rollout',
    { updated: 1, conditions: [paused] },
    true,
    '3 of 3 pods are available, 1 of them up to date',
    ['Continue its rollout: kubelet-ts rollout resume deployment/web'],
  ],
  ['a Job', { kind: 'Job', job }, true, '1 of 3 pods succeeded, 0 failed, 1 are active', []],
  [
    'a Job that waits to replace a failed pod',
    { kind: 'Job', job: { ...job, failed: 2, active: 0, nextRetryTime: noon + 20_000 } },
    false,
    '1 of 3 pods succeeded, 2 failed, 0 are active, the next try is in 20s',
    [],
  ],
  [
    'a failed Job',
    {
      kind: 'Job',
      job: { ...job, result: 'Failed' },
      conditions: [condition('Failed', 'True', 'BackoffLimitExceeded')],
    },
    false,
    'it failed: BackoffLimitExceeded.',
    [],
  ],
  [
    'a Job on a full disk',
    { kind: 'Job', job, conditions: [condition('ReplicaFailure', 'True', 'RecordNotWritten')] },
    false,
    'RecordNotWritten.',
    ['Make room on the disk, or mount it writable: df -h; df -i; findmnt'],
  ],
  ['a CronJob', { kind: 'CronJob', cronJob: cron }, true, 'it runs next in 120m', []],
  [
    'a CronJob whose last run failed',
    { kind: 'CronJob', cronJob: { ...cron, jobs: [{ ...run, result: 'Failed' }] } },
    false,
    'it runs next in 120m; its last run dump-1 failed',
    [],
  ],
  [
    'a suspended CronJob',
    { kind: 'CronJob', cronJob: { ...cron, isSuspended: true } },
    false,
    'it is suspended',
    ['Set suspend: false in its manifest.', 'Run it once: kubelet-ts run-once cronjob/web'],
  ],
])('explain of %s', (_what, changes, isGood, cause, fixes) => {
  const explained = explainWorkload({ ...web, ...changes }, noon);
  expect([explained.isGood, explained.cause, explained.fixes]).toEqual([isGood, cause, fixes]);
});

test('explain deploy/web names the conditions, and explains the pods that are not Ready', async () => {
  const rootDir = await temporaryFolder();
  const stuck = makeEntry('web-1-edge1', {
    containerState: { waiting: { reason: 'ErrImagePull', message: 'no such image' } },
  });
  const workloads = [{ ...web, available: 1, conditions: [failed] }];
  await startFakeAgent(rootDir, {
    '/v1/snapshot': makeSnapshot([makeEntry('web-edge1'), stuck], { workloads }),
    '/v1/history': [],
  });
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command().exitOverride();
  register(program, deps);
  await program.parseAsync(['explain', 'deploy', 'web', '--root-dir', rootDir], { from: 'user' });
  expect(deps.printed.stdout.split('\n').slice(0, 6)).toEqual([
    'default/deployment.apps/web: 1 of 3 pods are available',
    '',
    'Evidence:',
    '  condition ReplicaFailure: OutOfcpu: OutOfcpu.',
    '',
    'default/web-1-edge1: image',
  ]);
});

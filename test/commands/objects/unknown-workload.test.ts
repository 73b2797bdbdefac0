import { expect, test } from 'vitest';
import { findPod } from '../../../src/commands/describe/find-pod.ts';
import { withPod } from '../../../src/commands/pod/open-pod.ts';
import { unknownWorkload } from '../../../src/commands/objects/unknown-workload.ts';
import type { WorkloadSnapshot } from '../../../src/engine/view/snapshot.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeEntry, makeSnapshot } from '../../tui/make-snapshot.ts';
import { startFakeAgent } from '../fake-agent.ts';
import { makeDeps, makeRuntime } from '../runtime-listings.ts';

const counts = { desired: 1, current: 1, ready: 1, available: 1, updated: 1 };
const named = (kind: WorkloadSnapshot['kind'], name: string): WorkloadSnapshot => ({
  ...{ kind, namespace: 'default', name, ...counts, conditions: [], pods: [] },
});
const run = { name: 'dump-1', active: 0, ready: 0, succeeded: 1, failed: 0, terminating: 0, isSuspended: false };
const snapshot = makeSnapshot([makeEntry('web-edge1'), makeEntry('tool-edge1', { namespace: 'job' })], {
  workloads: [
    named('Deployment', 'web'),
    { ...named('CronJob', 'dump'), cronJob: { schedule: '@daily', isSuspended: false, jobs: [run] } },
  ],
});

test.each([
  ['deploy/nope', 'deployments.apps "nope" not found', 'List them: kubelet-ts get deployment'],
  ['deployment.apps/wep', 'deployments.apps "wep" not found', 'Did you mean deployment/web?'],
  ['rs/web', 'replicasets.apps "web" not found', 'Did you mean deployment/web?'],
  ['cj/dmup', 'cronjobs.batch "dmup" not found', 'Did you mean cronjob/dump?'],
  ['rc/nope', 'replicationcontrollers "nope" not found', 'List them: kubelet-ts get replicationcontroller'],
])('%s names no workload', async (word, message, hint) => {
  expect(await unknownWorkload(word, undefined, snapshot)).toMatchObject({ name: 'UserError', message, hint });
});

test('a workload of another namespace is named with it', async () => {
  expect(await unknownWorkload('deploy/web', 'other', snapshot)).toMatchObject({
    message: 'deployments.apps "web" not found',
    hint: 'It is in another namespace: -n default',
  });
});

test('a near name may be that of a Job that a CronJob runs', async () => {
  expect(await unknownWorkload('sts/dump-1', undefined, snapshot)).toMatchObject({ hint: 'Did you mean job/dump-1?' });
});

test.each(['web', 'default/web', 'pod/web', 'job/tool'])('%s may only name a pod', async (word) => {
  expect(await unknownWorkload(word, undefined, snapshot)).toBeUndefined();
});

test('commands that show a pod say so of an unknown workload', async () => {
  const rootDir = await temporaryFolder();
  await startFakeAgent(rootDir, { '/v1/snapshot': snapshot });
  const deps = makeDeps(makeRuntime([], []));
  const refused = { message: 'deployments.apps "wep" not found', hint: 'Did you mean deployment/web?' };
  await expect(findPod(deps, 'deploy/wep', { rootDir }, snapshot)).rejects.toMatchObject(refused);
  await expect(withPod(deps, 'deploy/wep', { rootDir }, () => Promise.resolve())).rejects.toMatchObject(refused);
});

import { Command } from 'commander';
import { expect, test } from 'vitest';
import { register as registerRollout } from '../../src/commands/rollout.ts';
import { register as registerScale } from '../../src/commands/scale.ts';
import type { WorkloadSnapshot } from '../../src/engine/view/snapshot.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { makeEntry, makeSnapshot } from '../tui/make-snapshot.ts';
import { type Asked, startFakeAgent } from './fake-agent.ts';
import { makeDeps, makeRuntime } from './runtime-listings.ts';

const web: WorkloadSnapshot = {
  kind: 'Deployment',
  namespace: 'default',
  name: 'web',
  desired: 3,
  current: 3,
  ready: 3,
  available: 3,
  updated: 3,
  conditions: [],
  pods: ['web-edge1'],
};

/** Runs a command line beside an agent with these workloads, whose events end at once. */
async function type(
  words: readonly string[],
  workloads: WorkloadSnapshot[] = [web],
): Promise<{ stdout: string; asked: Asked[] }> {
  const rootDir = await temporaryFolder();
  const actions = ['scale', 'restart', 'undo', 'pause', 'resume'];
  const asked = await startFakeAgent(rootDir, {
    '/v1/snapshot': { ...makeSnapshot([makeEntry('web-edge1')]), workloads },
    ...Object.fromEntries(
      actions.map((action) => [`/v1/workloads/Deployment/default/web/${action}`, { message: `${action} done` }]),
    ),
  });
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  for (const register of [registerRollout, registerScale]) register(program, deps);
  await program.parseAsync([...words, '--root-dir', rootDir], { from: 'user' });
  return { stdout: deps.printed.stdout, asked: asked.filter(([request]) => request.startsWith('POST')) };
}

test.each([
  ['scale deploy/web --replicas 2', 'deployment.apps/web scale done\n', '/scale', { replicas: 2 }],
  ['scale --replicas=0 deployment web', 'deployment.apps/web scale done\n', '/scale', { replicas: 0 }],
  ['rollout restart deployment.apps/web', 'deployment.apps/web restart done\n', '/restart', {}],
  ['rollout undo deploy/web --to-revision 2', 'deployment.apps/web undo done\n', '/undo', { to: 2 }],
  ['rollout pause web -n default', 'deployment.apps/web pause done\n', '/pause', {}],
])('%s', async (line, stdout, action, body) => {
  const typed = await type(line.split(' '));
  expect(typed).toEqual({ stdout, asked: [[`POST /v1/workloads/Deployment/default/web${action}`, body]] });
});

test.each([
  ['scale deploy/api --replicas 2', 'deployments.apps "api" not found'],
  ['scale wep --replicas 2', 'no workload "wep" is declared'],
  ['scale sts/web --replicas 2', 'statefulsets.apps "web" not found'],
  ['scale deploy/web --replicas many', '--replicas must be a number from 0 to 1000, not "many"'],
  ['scale deploy/web --replicas 99999999999', '--replicas must be a number from 0 to 1000, not "99999999999"'],
  ['rollout undo deploy/web --to-revision first', '--to-revision must be the number of a revision, not "first"'],
])('%s is refused', async (line, message) => {
  await expect(type(line.split(' '))).rejects.toThrow(message);
});

test.each(['status', 'history'])('rollout %s of a Job is refused', async (name) => {
  const job: WorkloadSnapshot = { ...web, kind: 'Job', name: 'import', desired: 1, updated: 0 };
  await expect(type(['rollout', name, 'job/import'], [web, job])).rejects.toThrow(`${name} is not for a Job`);
});

test('a name of several workloads needs its kind', async () => {
  await expect(type(['rollout', 'pause', 'web'], [web, { ...web, kind: 'StatefulSet' }])).rejects.toThrow(
    'several workloads match "web": Deployment/default/web, StatefulSet/default/web',
  );
});

const complete = { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable', message: '' } as const;
const onDelete = { type: 'Progressing', status: 'Unknown', reason: 'OnDelete', message: '' } as const;
const late = { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: '' } as const;

test.each<[string, Partial<WorkloadSnapshot>, string]>([
  ['done', {}, 'deployment "web" successfully rolled out\n'],
  [
    'done up to its partition',
    { updated: 1, conditions: [complete] },
    'partitioned roll out complete: 1 new pods have been updated...\n',
  ],
  [
    'updating',
    { updated: 1 },
    'Waiting for deployment "web" rollout to finish: 1 out of 3 new replicas have been updated...\n',
  ],
  [
    'with an extra pod',
    { current: 4 },
    'Waiting for deployment "web" rollout to finish: 1 old replicas are pending termination...\n',
  ],
  [
    'starting',
    { available: 2 },
    'Waiting for deployment "web" rollout to finish: 2 of 3 updated replicas are available...\n',
  ],
])('rollout status of a workload that is %s', async (_what, changes, stdout) => {
  const words = ['rollout', 'status', 'deploy/web', '--watch=false'];
  expect((await type(words, [{ ...web, ...changes }])).stdout).toBe(stdout);
});

test('rollout status fails after the progress deadline, with OnDelete, and if the agent exits', async () => {
  const status = ['rollout', 'status', 'deploy/web'];
  await expect(type(status, [{ ...web, updated: 1, conditions: [late] }])).rejects.toMatchObject({
    message: 'deployment "web" exceeded its progress deadline',
    hint: 'Find out why: kubelet-ts explain deployment/web',
  });
  await expect(type(status, [{ ...web, updated: 1, conditions: [onDelete] }])).rejects.toMatchObject({
    message: 'deployment "web" updates a pod only when it is restarted',
    hint: 'Update all now: kubelet-ts restart deployment/web',
  });
  await expect(type(status, [{ ...web, updated: 1 }])).rejects.toThrow(
    'kubelet-ts exited before deployment "web" was rolled out',
  );
});

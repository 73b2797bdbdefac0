import { Command } from 'commander';
import { expect, test } from 'vitest';
import { registerOperation } from '../../src/commands/operate.ts';
import type { PodSnapshot, WorkloadSnapshot } from '../../src/engine/view/snapshot.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { makeEntry, makeSnapshot } from '../tui/make-snapshot.ts';
import { type Asked, startFakeAgent } from './fake-agent.ts';
import { makeDeps, makeRuntime } from './runtime-listings.ts';

/** Runs `stop` with these words beside an agent whose pod `web` is `state`. The agent ends its events. */
async function stop(state: 'sync' | 'terminating', ...words: string[]): Promise<{ stdout: string; asked: Asked[] }> {
  const rootDir = await temporaryFolder();
  const pods = [makeEntry('web-edge1', { worker: { state } })];
  const asked = await startFakeAgent(rootDir, {
    '/v1/snapshot': makeSnapshot(pods),
    '/v1/pods/default/web-edge1/stop': { message: 'pod/web-edge1 stops' },
  });
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  registerOperation('stop')(program, deps);
  await program.parseAsync(['stop', '--root-dir', rootDir, ...words], { from: 'user' });
  return { stdout: deps.printed.stdout, asked };
}

const waited = 'pod/web-edge1 stopped\n';
const notWaited = 'pod/web-edge1 stops\n';

test.each([
  [['web'], waited],
  [['--wait', 'web'], waited],
  [['web', '--wait'], waited],
  [['--wait', '--', 'web'], waited],
  [['--wait=true', 'web'], waited],
  [['--wait', 'true', 'web'], waited],
  [['--wait=false', 'web'], notWaited],
  [['web', '--wait=false'], notWaited],
  [['web', '--wait', 'false'], notWaited],
])('stop %j prints %j', async (words, stdout) => {
  expect((await stop('sync', ...words)).stdout).toBe(stdout);
});

test.each([[[]], [['--timeout', '0']], [['--timeout', '1000.0000005s']], [['--timeout', '720h']]])(
  'with %j a wait does not end before the pod or the agent',
  async (words) => {
    await expect(stop('terminating', 'web', ...words)).rejects.toMatchObject({
      name: 'UserError',
      message: 'kubelet-ts exited before these pods had stopped: web-edge1',
    });
  },
);

/** Runs `restart` with these words, for an agent whose pod `web` has these changes. */
async function restart(changes: Partial<PodSnapshot>, ...words: string[]): Promise<string> {
  const rootDir = await temporaryFolder();
  await startFakeAgent(rootDir, {
    '/v1/snapshot': makeSnapshot([{ ...makeEntry('web-edge1'), ...changes }]),
    '/v1/pods/default/web-edge1/restart': { message: 'pod/web-edge1 restarts' },
  });
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  registerOperation('restart')(program, deps);
  await program.parseAsync(['restart', '--root-dir', rootDir, ...words], { from: 'user' });
  return deps.printed.stdout;
}

test('restart waits until the old container has stopped, unless told not to wait', async () => {
  const restarting = { restarting: ['main'] };
  await expect(restart(restarting, 'web')).rejects.toMatchObject({
    name: 'UserError',
    message: 'kubelet-ts exited before these pods had restarted: web-edge1',
    hint: 'They keep restarting. Check them: kubelet-ts ps',
  });
  expect(await restart(restarting, 'web', '--wait=false')).toBe('pod/web-edge1 restarts\n');
  expect(await restart({}, '--all')).toBe('pod/web-edge1 restarts\n');
});

test.each([
  ['while the earlier revision stops', { replacedBy: 'uid-new' }],
  ['until the earlier revision is asked to stop', { waitingUpdate: { reason: 'OnDelete', message: 'waits' } }],
  ['while its containers are updated in place', { outdatedContainers: ['main'] }],
  ['while its new image is pulled', { waitingUpdate: { reason: 'Pulling', message: 'pulling app:2' } }],
])('restart of a pod that changes its revision waits %s', async (_what, changes) => {
  await expect(restart(changes, 'web')).rejects.toMatchObject({
    message: 'kubelet-ts exited before these pods had restarted: web-edge1',
  });
});

test('restart ends with the reason if a pod cannot change its revision', async () => {
  const waitingUpdate = { reason: 'ErrImagePull', message: 'app:2 not found' };
  await expect(restart({ waitingUpdate }, 'web')).rejects.toMatchObject({
    message: 'pod web-edge1 keeps its earlier revision: ErrImagePull: app:2 not found',
    hint: 'kubelet-ts explain default/web-edge1',
  });
});

test('restart ends with the reason if a container cannot start again', async () => {
  const broken = makeEntry('web-edge1', { containerState: { waiting: { reason: 'ErrImagePull' } } });
  await expect(restart({ ...broken, restarting: ['main'] }, 'web')).rejects.toMatchObject({
    message: 'container main of pod web-edge1 has not started again: ErrImagePull',
    hint: 'kubelet-ts explain default/web-edge1',
  });
});

test('a name that only begins that of a pod stops nothing', async () => {
  await expect(stop('sync', 'we')).rejects.toMatchObject({ message: 'no pod "we"' });
  await expect(stop('sync', 'web-edge')).rejects.toMatchObject({ message: 'no pod "web-edge"' });
});

test('an agent that ends before its answer is started again first', async () => {
  const rootDir = await temporaryFolder();
  await startFakeAgent(rootDir, { '/v1/snapshot': makeSnapshot([makeEntry('web-edge1')]) }, [
    '/v1/pods/default/web-edge1/stop',
  ]);
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  registerOperation('stop')(program, makeDeps(makeRuntime([], [])));
  await expect(program.parseAsync(['stop', '--root-dir', rootDir, 'web'], { from: 'user' })).rejects.toMatchObject({
    name: 'UserError',
    message: 'kubelet-ts exited before it reported on default/web-edge1',
    hint: 'Start it again, then check the pod: kubelet-ts describe default/web-edge1',
  });
});

const deployment = { kind: 'Deployment', namespace: 'default', name: 'web', conditions: [], pods: ['web-edge1'] };
const done = { desired: 1, current: 1, ready: 1, available: 1, updated: 1 };

/** Runs `restart` next to an agent with a Deployment, which waits for nothing. */
async function restartDeployment(
  changes: object,
  pod: PodSnapshot,
  ...words: string[]
): Promise<{ stdout: string; asked: Asked[] }> {
  const rootDir = await temporaryFolder();
  const asked = await startFakeAgent(rootDir, {
    '/v1/snapshot': makeSnapshot([pod], { workloads: [{ ...deployment, ...done, ...changes } as WorkloadSnapshot] }),
    '/v1/workloads/Deployment/default/web/restart': { message: 'restarted' },
    '/v1/pods/default/web-edge1/restart': { message: 'pod/web-edge1 restarts' },
  });
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  registerOperation('restart')(program, deps);
  await program.parseAsync(['restart', '--root-dir', rootDir, ...words], { from: 'user' });
  return { stdout: deps.printed.stdout, asked: asked.filter(([request]) => request.startsWith('POST')) };
}

test('restart of a workload is a rollout, and waits for it', async () => {
  const rolledOut = 'deployment.apps/web restarted\ndeployment "web" successfully rolled out\n';
  for (const words of [['deploy/web'], ['deployment', 'web']]) {
    expect(await restartDeployment({}, makeEntry('web-edge1'), ...words)).toEqual({
      stdout: rolledOut,
      asked: [['POST /v1/workloads/Deployment/default/web/restart', {}]],
    });
  }
  expect((await restartDeployment({}, makeEntry('web-edge1'), 'deploy/web', '--wait=false')).stdout).toBe(
    'deployment.apps/web restarted\n',
  );
});

test.each([
  ['with a container', {}, ['deploy/web', '-c', 'main']],
  ['with OnDelete', { conditions: [{ reason: 'OnDelete' }] }, ['deploy/web']],
])('restart of a workload %s restarts its pods in place', async (_what, changes, words) => {
  const { asked } = await restartDeployment(changes, makeEntry('web-edge1'), ...words);
  expect(asked.map(([request]) => request)).toEqual(['POST /v1/pods/default/web-edge1/restart']);
});

test('restart of a workload with a stopped pod is refused, because its rollout would wait', async () => {
  const entry = makeEntry('web-edge1');
  const stopped = { ...entry, pod: { ...entry.pod, status: { ...entry.pod.status, reason: 'Stopped' } } };
  await expect(restartDeployment({}, stopped, 'deploy/web')).rejects.toMatchObject({
    message: 'pod web-edge1 of deployment.apps/web is stopped',
    hint: 'Start it: kubelet-ts start web-edge1',
  });
});

/** Runs an action next to an agent with a Job and a CronJob that has a run, each with a pod of this phase. */
async function ofJobs(action: 'restart' | 'retry' | 'stop', phases: Record<string, string>, ...words: string[]) {
  const rootDir = await temporaryFolder();
  const named = (kind: string, name: string, pods: string[]) =>
    ({ kind, namespace: 'default', name, conditions: [], pods, ...done }) as unknown as WorkloadSnapshot;
  const pods = Object.entries(phases).map(([name, phase]) => {
    const entry = makeEntry(name);
    return {
      ...entry,
      pod: {
        ...entry.pod,
        spec: { ...entry.pod.spec, restartPolicy: 'Never' },
        status: { ...entry.pod.status, phase },
      },
    };
  });
  const runs = Object.keys(phases).filter((name) => name.startsWith('dump-'));
  const asked = await startFakeAgent(rootDir, {
    '/v1/snapshot': makeSnapshot(pods, {
      workloads: [
        named('Job', 'pi', ['pi-edge1', 'pi-1-edge1']),
        { ...named('CronJob', 'dump', runs), cronJob: { jobs: [{ name: 'dump-1' }] } } as unknown as WorkloadSnapshot,
      ],
    }),
    ...Object.fromEntries(
      Object.keys(phases).map((name) => [`/v1/pods/default/${name}/${action}`, { message: `${action} ${name}` }]),
    ),
  });
  const program = new Command().exitOverride();
  registerOperation(action)(program, makeDeps(makeRuntime([], [])));
  await program.parseAsync([action, '--root-dir', rootDir, ...words], { from: 'user' });
  return asked.map(([request]) => request).filter((request) => request.startsWith('POST'));
}

test.each([
  [['cronjob/dump'], 'a CronJob cannot be restarted', 'Run it now: kubelet-ts run-once cronjob/dump'],
  [['cj', 'dump'], 'a CronJob cannot be restarted', 'Run it now: kubelet-ts run-once cronjob/dump'],
  [['job/pi'], 'a Job cannot be restarted', 'Run its failed pods again: kubelet-ts retry job/pi'],
  [['job/dump-1'], 'a Job cannot be restarted', 'Run its failed pods again: kubelet-ts retry job/dump-1'],
  [['job/pi', '-c', 'main'], 'a Job cannot be restarted', 'Run its failed pods again: kubelet-ts retry job/pi'],
])('restart %s runs nothing again', async (words, message, hint) => {
  const phases = { 'pi-edge1': 'Succeeded', 'pi-1-edge1': 'Failed', 'dump-1-edge1': 'Succeeded' };
  await expect(ofJobs('restart', phases, ...words)).rejects.toMatchObject({ message, hint });
});

test.each([
  ['job/pi', ['pi-1-edge1']],
  ['cronjob/dump', ['dump-2-edge1']],
  ['pi', ['pi-edge1']],
])('retry %s leaves the pods that succeeded, unless it names one', async (word, retried) => {
  const phases = {
    'pi-edge1': 'Succeeded',
    'pi-1-edge1': 'Failed',
    'dump-1-edge1': 'Succeeded',
    'dump-2-edge1': 'Pending',
  };
  expect(await ofJobs('retry', phases, word)).toEqual(retried.map((name) => `POST /v1/pods/default/${name}/retry`));
});

test('stop leaves finished pods, which start would run again', async () => {
  const phases = { 'pi-edge1': 'Succeeded', 'pi-1-edge1': 'Running', 'dump-1-edge1': 'Failed' };
  for (const words of [['job/pi'], ['--all']])
    expect(await ofJobs('stop', phases, ...words, '--wait=false')).toEqual(['POST /v1/pods/default/pi-1-edge1/stop']);
});

test('retry of a Job whose pods have all succeeded says how to run one again', async () => {
  const phases = { 'pi-edge1': 'Succeeded', 'pi-1-edge1': 'Succeeded' };
  await expect(ofJobs('retry', phases, 'job/pi')).rejects.toMatchObject({
    message: 'all pods of job/pi have finished',
    hint: 'Run one of them again: kubelet-ts retry pi-edge1',
  });
});

test.each([
  ['cronjob/dump', 'Run it now: kubelet-ts run-once cronjob/dump'],
  ['job/pi', 'Find out why: kubelet-ts describe job/pi'],
])('stop of %s without pods says what to do', async (word, hint) => {
  await expect(ofJobs('stop', {}, word)).rejects.toMatchObject({ message: `${word} has no pods`, hint });
});

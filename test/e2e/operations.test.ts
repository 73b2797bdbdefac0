import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Container, Pod } from '../../src/api/types.ts';
import type { PodSnapshot } from '../../src/engine/view/snapshot.ts';
import { Agent } from './agent.ts';
import { busybox, makePod, serve, shell } from './manifests.ts';

/** The pod `web` with this text in its environment. */
const web = (text: string, annotations: Record<string, string> = {}): object => {
  const pod = makePod('web', {
    containers: [shell('app', serve, { image: busybox, env: [{ name: 'TEXT', value: text }] })],
  });
  return { ...pod, metadata: { name: 'web', annotations } };
};

describe('operating a declared pod', () => {
  let agent: Agent;

  beforeAll(async () => {
    agent = await Agent.create({ manifests: { 'web.json': web('1') } });
    await agent.start();
    await agent.untilReady('web');
  });
  afterAll(() => agent.cleanUp());

  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await agent.cli(args);
    return code === 0 ? stdout : `${stdout}${stderr}${code ?? ''}`;
  };
  const textOf = async (): Promise<string> => (await run('exec', 'web', '--', 'sh', '-c', 'echo $TEXT')).trim();

  test('restart keeps the pod, and counts once', async () => {
    const { pod } = await agent.untilReady('web');
    expect(await run('restart', 'web')).toBe('pod/web-edge1 restarted\n');
    const { pods } = await agent.until((snapshot) =>
      snapshot.pods.some(({ pod: { status } }) => status?.containerStatuses?.[0]?.restartCount === 1),
    );
    const [restarted] = pods;
    expect(restarted?.pod.metadata.uid).toBe(pod.metadata.uid);
    expect(restarted?.pod.status?.podIP).toBe(pod.status?.podIP);
  });

  test('a stop outlives a kill of the agent, until start', async () => {
    expect(await run('stop', 'web')).toBe('pod/web-edge1 stopped\n');
    expect(await run('ps', '--no-headers')).toMatch(/^default +web-edge1 +0\/1 +Stopped /);
    await agent.until(({ pods }) => pods.every(({ worker }) => worker.state === 'finished'));
    await agent.kill9();
    await agent.start();
    await agent.until(({ pods }) => pods.some(({ pod: { status } }) => status?.reason === 'Stopped'));
    expect(await run('ps', '--no-headers')).toMatch(/^default +web-edge1 +0\/1 +Stopped /);
    expect(await run('start', 'web')).toBe('pod/web-edge1 started\n');
    await agent.untilReady('web');
    expect(await run('retry', 'web')).toBe('retrying pod/web-edge1 now\n');
  });

  test('a stop waits until the containers have ended, and ps shows that they end', async () => {
    const slow = shell('app', 'trap "" TERM; until [ -e /tmp/end ]; do sleep 0.1; done');
    await agent.write('slow.json', makePod('slow', { terminationGracePeriodSeconds: 600, containers: [slow] }));
    await agent.untilReady('slow');
    expect(await run('stop', 'slow', '--timeout', '5s')).toBe(
      'waiting for slow-edge1 to stop\n' +
        'error: timed out before these pods had stopped: slow-edge1\n' +
        'hint: It keeps stopping, and stays stopped. Check it: kubelet-ts ps\n1',
    );
    expect(await run('ps', 'slow', '--no-headers')).toMatch(/^default +slow-edge1 +1\/1 +Terminating /);
    expect(await run('stop', 'slow', '--wait=false')).toBe('pod/slow-edge1 stopped\n');
    expect(await run('exec', 'slow', '--', 'touch', '/tmp/end')).toBe('');
    expect(await run('stop', 'slow')).toBe('pod/slow-edge1 stopped\n');
    expect(await run('ps', 'slow', '--no-headers')).toMatch(/^default +slow-edge1 +0\/1 +Stopped /);
    await agent.remove('slow.json');
    await agent.until(({ pods }) => pods.length === 1);
  });

  test('a held pod runs its revision on, and a rollback ends with unhold', async () => {
    await run('hold', 'web');
    await agent.write('web.json', web('2'));
    await agent.until(({ pods }) => pods.some(({ waitingUpdate }) => waitingUpdate?.reason === 'Held'));
    expect(await textOf()).toBe('1');
    await run('unhold', 'web');
    expect((await agent.cli(['wait', 'web', '--for', 'updated', '--timeout', '5m'])).code).toBe(0);
    await agent.untilReady('web');
    expect(await textOf()).toBe('2');
    expect(await run('rollback', 'web')).toContain('pod/web-edge1 rolled back to revision 1');
    await agent.until(({ pods }) => pods.length === 1 && pods[0]?.pod.spec.containers[0]?.env?.[0]?.value === '1');
    await agent.untilReady('web');
    expect(await textOf()).toBe('1');
    expect(await agent.cli(['wait', 'web', '--for', 'updated', '--timeout', '5m'])).toMatchObject({ code: 1 });
    expect(await run('history', 'web')).toMatch(/^REVISION .*\n1\* .*\n2 .*\n$/);
  });

  test('an action on a pod that is not there names the pods', async () => {
    expect(await run('stop', 'wab')).toContain('no pod "wab"');
  });
});

test('an update that is not Ready by its deadline is rolled back, while others pull, probe and crash', async ({
  onTestFinished,
}) => {
  const failing = (name: string, container: Partial<Container>): object =>
    makePod(name, { containers: [shell(name, serve, container)] });
  const probe = { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1 };
  const deadline = { 'kubelet-ts.io/progress-deadline': '3s' };
  const agent = await Agent.create({
    manifests: {
      'web.json': web('1', deadline),
      'crash.json': failing('crash', { command: ['false'] }),
      'pull.json': failing('pull', { image: 'localhost/missing:1' }),
      'probe.json': failing('probe', { livenessProbe: probe }),
    },
  });
  onTestFinished(() => agent.cleanUp());
  await agent.start();
  await agent.untilReady('web');
  const isRestarted = ({ pod: { status } }: PodSnapshot): boolean =>
    (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0;
  await agent.untilPod('crash', isRestarted);
  await agent.untilPod('probe', isRestarted);
  await agent.untilPod('pull', ({ pod }) => pod.status?.containerStatuses?.[0]?.state?.waiting?.reason !== undefined);

  const broken = web('2', deadline) as Pod;
  const [app] = broken.spec.containers;
  if (app === undefined) throw new Error('the pod has no container');
  app.readinessProbe = probe;
  await agent.write('web.json', broken);
  await agent.untilPod('web', ({ waitingUpdate }) => waitingUpdate?.reason === 'RolledBack');
  const { pod } = await agent.untilReady('web');
  expect(pod.spec.containers[0]?.env).toEqual([{ name: 'TEXT', value: '1' }]);
  expect(await agent.cli(['wait', 'web', '--for', 'updated', '--timeout', '5m'])).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'error: pod web does not run its manifest: revision 2 was not Ready within 3s; revision 1 runs\n' +
      'hint: Correct the manifest, or try it again: kubelet-ts unhold web\n',
  });
});

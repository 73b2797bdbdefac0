import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Container, ContainerState, Pod } from '../../src/api/types.ts';
import { type Agent, isReady, startAgent } from './agent.ts';
import { hostFolder, makePod, serve, shell } from './manifests.ts';
import { untilLines } from './until-lines.ts';

let agent: Agent;

beforeAll(async () => {
  agent = await startAgent();
});
afterEach(() => agent.removeAll());
afterAll(() => agent.cleanUp());

/** A folder that containers write to, mounted at /journal, and what they wrote. */
function journal(name: string) {
  const folder = join(agent.rootDir, `journal-${name}`);
  return {
    volumes: [hostFolder('journal', folder)],
    volumeMounts: [{ name: 'journal', mountPath: '/journal' }],
    read: (lines: number): Promise<string[]> => untilLines(join(folder, 'log'), lines),
  };
}

/** What `kubectl get pod -o yaml` tells of the containers, without times and ids. */
function containersOf({ status }: Pod): object[] {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return statuses.map(({ name, ready, restartCount, state }) => ({ name, ready, restartCount, ...stateOf(state) }));
}

function stateOf({ terminated, waiting }: ContainerState = {}): object {
  if (terminated !== undefined) return { exitCode: terminated.exitCode, reason: terminated.reason };
  return waiting === undefined ? {} : { waiting: waiting.reason };
}

test('an edited manifest stops the old pod before the new one starts', async () => {
  const { volumes, volumeMounts, read } = journal('edit');
  const write = (version: string): Promise<void> => {
    const script = `trap 'sleep 0.3; echo end ${version} >> /journal/log; exit 0' TERM
      echo start ${version} >> /journal/log
      while :; do sleep 3600 & wait; done`;
    return agent.write('web.yaml', makePod('web', { volumes, containers: [shell('app', script, { volumeMounts })] }));
  };
  await write('v1');
  const { pod: first } = await agent.untilReady('web');
  await read(1);
  await write('v2');
  await agent.untilPod('web', (entry) => entry.pod.metadata.uid !== first.metadata.uid && isReady(entry));
  expect(await read(3)).toEqual(['start v1', 'end v1', 'start v2']);
});

test('a removed manifest stops its pod, and nothing of it is left', async () => {
  await agent.write('web.yaml', makePod('web', { containers: [shell('app', serve)] }));
  await agent.write('dns.yaml', makePod('dns', { containers: [shell('app', serve)] }));
  const { pod } = await agent.untilReady('web');
  await agent.untilReady('dns');
  await agent.remove('web.yaml');
  const { pods } = await agent.until((snapshot) => snapshot.pods.length === 1);
  expect(pods.map((entry) => entry.pod.metadata.name)).toEqual(['dns-edge1']);
  const left = await agent.findPod(pod.metadata.uid);
  expect(left).toEqual({ containers: [], sandboxes: [], folders: [] });
});

test('init containers run one after the other, then the app', async () => {
  const { volumes, volumeMounts, read } = journal('init');
  const say = (name: string, after = ''): Container =>
    shell(name, `echo begin ${name} >> /journal/log; sleep 0.1; echo end ${name} >> /journal/log; ${after}`, {
      volumeMounts,
    });
  const manifest = makePod('web', {
    volumes,
    initContainers: [say('one'), say('two')],
    containers: [say('app', serve)],
  });
  await agent.write('web.yaml', manifest);
  const { pod } = await agent.untilReady('web');
  expect(containersOf(pod)).toEqual([
    { name: 'one', ready: true, restartCount: 0, exitCode: 0, reason: 'Completed' },
    { name: 'two', ready: true, restartCount: 0, exitCode: 0, reason: 'Completed' },
    { name: 'app', ready: true, restartCount: 0 },
  ]);
  expect(await read(6)).toEqual(['begin one', 'end one', 'begin two', 'end two', 'begin app', 'end app']);
});

test.each([
  { restartPolicy: 'Never', script: 'exit 3', phase: 'Failed', restartCount: 0, exitCode: 3, reason: 'Error' },
  {
    restartPolicy: 'OnFailure',
    script: '[ -e /journal/log ] && exit 0; echo failed > /journal/log; exit 4',
    phase: 'Succeeded',
    restartCount: 1,
    exitCode: 0,
    reason: 'Completed',
  },
])('restartPolicy $restartPolicy with `$script` ends as $phase', async ({ restartPolicy, script, phase, ...end }) => {
  const { volumes, volumeMounts } = journal(`end-${restartPolicy}-${end.restartCount}`);
  const containers = [shell('app', script, { volumeMounts })];
  await agent.write('job.yaml', makePod('job', { restartPolicy, volumes, containers }));
  const { pod } = await agent.untilPod('job', ({ worker }) => worker.state === 'finished');
  expect({ phase: pod.status?.phase, containers: containersOf(pod) }).toEqual({
    phase,
    containers: [{ name: 'app', ready: false, ...end }],
  });
});

test('a container that crashes again and again waits in CrashLoopBackOff', async () => {
  await agent.write('web.yaml', makePod('web', { containers: [shell('app', 'exit 1')] }));
  const isWaiting = ({ pod }: { pod: Pod }): boolean =>
    pod.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff';
  const { pod } = await agent.untilPod('web', isWaiting);
  expect(containersOf(pod)).toEqual([{ name: 'app', ready: false, restartCount: 1, waiting: 'CrashLoopBackOff' }]);
  const { stdout } = await agent.cli(['ps', '--no-headers']);
  expect(stdout.replaceAll(/\d+s/g, '0s').split(/\s\s+/)).toEqual([
    'default',
    'web-edge1',
    '0/1',
    'CrashLoopBackOff',
    '1 (0s ago)',
    '0s',
    'exits with code 1; next try in 0s\n',
  ]);
});

test('a sidecar starts before the app and stops after it', async () => {
  const { volumes, volumeMounts, read } = journal('sidecar');
  const say = (name: string): Container =>
    shell(
      name,
      `trap 'echo end ${name} >> /journal/log; exit 0' TERM
       echo start ${name} >> /journal/log
       while :; do sleep 3600 & wait; done`,
      { volumeMounts },
    );
  const sidecar: Container = { ...say('sidecar'), restartPolicy: 'Always' };
  const manifest = makePod('web', {
    volumes,
    terminationGracePeriodSeconds: 5,
    initContainers: [sidecar],
    containers: [say('app')],
  });
  await agent.write('web.yaml', manifest);
  await agent.untilReady('web');
  await read(2);
  await agent.removeAll();
  expect(await read(4)).toEqual(['start sidecar', 'start app', 'end app', 'end sidecar']);
});

test('a pod whose sandbox dies is made again', async () => {
  await agent.write('web.yaml', makePod('web', { containers: [shell('app', serve)] }));
  await agent.untilReady('web');
  const before = await agent.runningContainer('web');
  const pause = await agent.sandboxPid('web');
  process.kill(pause, 'SIGKILL');
  await agent.untilPod(
    'web',
    (entry) => isReady(entry) && entry.pod.status?.containerStatuses?.[0]?.containerID !== `containerd://${before.id}`,
  );
  expect((await agent.runningContainer('web')).id).not.toBe(before.id);
});

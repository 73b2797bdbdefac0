import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PodSnapshot } from '../../src/engine/view/snapshot.ts';
import { type Agent, isReady, startAgent } from './agent.ts';
import { hostFolder, makePod, serve, shell } from './manifests.ts';

let agent: Agent;

beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.cleanUp());

const soon = { periodSeconds: 1, failureThreshold: 2 };
const reasonsOf = ({ events }: PodSnapshot): string[] =>
  events.flatMap((event) => (event.type === 'Recorded' ? [event.reason] : []));

test('a pod is ready as long as its readiness probe succeeds', async () => {
  await agent.write(
    'ready.yaml',
    makePod('ready', {
      volumes: [hostFolder('state', `${agent.rootDir}/ready`)],
      containers: [
        shell('app', `touch /state/up; ${serve}`, {
          volumeMounts: [{ name: 'state', mountPath: '/state' }],
          readinessProbe: { exec: { command: ['test', '-e', '/state/up'] }, ...soon },
        }),
      ],
    }),
  );
  await agent.untilReady('ready');
  expect((await agent.cli(['exec', 'ready', '--', 'rm', '/state/up'])).code).toBe(0);
  const failing = await agent.untilPod('ready', (pod) => !isReady(pod));
  expect(reasonsOf(failing)).toContain('Unhealthy');
  expect((await agent.cli(['exec', 'ready', '--', 'touch', '/state/up'])).code).toBe(0);
  const { pod } = await agent.untilReady('ready');
  expect(pod.status?.containerStatuses?.[0]?.restartCount).toBe(0);
});

test('a container whose liveness probe fails is started again', async () => {
  await agent.write(
    'live.yaml',
    makePod('live', {
      containers: [
        shell('app', `touch /tmp/alive; ${serve}`, {
          livenessProbe: { exec: { command: ['test', '-e', '/tmp/alive'] }, ...soon },
        }),
      ],
    }),
  );
  await agent.untilReady('live');
  expect((await agent.cli(['exec', 'live', '--', 'rm', '/tmp/alive'])).code).toBe(0);
  const restarted = await agent.untilPod(
    'live',
    // On a busy machine a probe can also fail by its time-out.
    (pod) => (pod.pod.status?.containerStatuses?.[0]?.restartCount ?? 0) >= 1 && isReady(pod),
  );
  expect(reasonsOf(restarted)).toEqual(expect.arrayContaining(['Unhealthy', 'Killing']));
});

test('hooks run after the start and before the stop', async () => {
  const folder = `${agent.rootDir}/hooks`;
  const note = (text: string): { exec: { command: string[] } } => ({
    exec: { command: ['sh', '-c', `echo ${text} >> /notes/log`] },
  });
  await agent.write(
    'hooks.yaml',
    makePod('hooks', {
      terminationGracePeriodSeconds: 30,
      volumes: [hostFolder('notes', folder)],
      containers: [
        shell('app', `trap "echo stopped >> /notes/log; exit 0" TERM; while :; do sleep 3600 & wait; done`, {
          volumeMounts: [{ name: 'notes', mountPath: '/notes' }],
          lifecycle: { postStart: note('started'), preStop: note('stopping') },
        }),
      ],
    }),
  );
  await agent.untilReady('hooks');
  await agent.remove('hooks.yaml');
  await agent.until(({ pods }) => pods.every(({ pod }) => !pod.metadata.name.startsWith('hooks')));
  expect(await readFile(join(folder, 'log'), 'utf8')).toBe('started\nstopping\nstopped\n');
});

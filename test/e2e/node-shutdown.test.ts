import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dependsOnAnnotation } from '../../src/api/depends-on.ts';
import { type Agent, startAgent } from './agent.ts';
import { hostFolder, makePod, shell } from './manifests.ts';

let agent: Agent;

beforeAll(async () => {
  agent = await startAgent({
    flags: ['--shutdown-grace-period', '30s', '--shutdown-grace-period-critical-pods', '10s'],
  });
});
afterAll(() => agent.cleanUp());

/** A pod that notes when it is told to stop. */
function noting(name: string, more: { dependsOn?: string; priority?: number } = {}): object {
  const { dependsOn, priority } = more;
  const script = `trap "echo ${name} >> /notes/log; exit 0" TERM; while :; do sleep 3600 & wait; done`;
  return makePod(name, {
    terminationGracePeriodSeconds: 30,
    ...(dependsOn !== undefined && { annotations: { [dependsOnAnnotation]: dependsOn } }),
    ...(priority !== undefined && { priority }),
    volumes: [hostFolder('notes', join(agent.rootDir, 'notes'))],
    containers: [shell(name, script, { volumeMounts: [{ name: 'notes', mountPath: '/notes' }] })],
  });
}

test('SIGTERM ends the pods in the reverse of their order, critical ones last, and they run again after the next start', async () => {
  await agent.write('apiserver.yaml', noting('apiserver', { dependsOn: 'etcd', priority: 2_000_001_000 }));
  await agent.write('etcd.yaml', noting('etcd', { priority: 2_000_001_000 }));
  await agent.write('web.yaml', noting('web'));
  for (const name of ['etcd', 'apiserver', 'web']) await agent.untilReady(name);

  expect(await agent.stop()).toEqual({ code: 0, signal: null });
  expect(await readFile(join(agent.rootDir, 'notes/log'), 'utf8')).toBe('web\napiserver\netcd\n');
  for (const name of ['etcd', 'apiserver', 'web']) {
    await expect(agent.runningContainer(name)).rejects.toThrow('no container');
  }

  await agent.start();
  for (const name of ['etcd', 'apiserver', 'web']) await agent.untilReady(name);
});

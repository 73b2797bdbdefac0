import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

let agent: Agent;

beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.cleanUp());

const claim = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};

/** A pod of user 1000 that adds a line to its claim when it starts. */
const writer = (name: string): object =>
  makePod(name, {
    securityContext: { runAsUser: 1000, fsGroup: 2000 },
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    containers: [
      shell('main', `echo ${name} >> /data/lines; ${serve}`, {
        volumeMounts: [
          { name: 'data', mountPath: '/data' },
          { name: 'data', mountPath: '/part', subPath: 'a/part' },
        ],
      }),
    ],
  });

async function look(pod: string, script: string): Promise<string> {
  const { code, stdout, stderr } = await agent.cli(['exec', pod, '--', 'sh', '-c', script]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

test('the data of a claim outlive its pods, kill -9, its manifest and down, and go with down --volumes', async () => {
  await agent.write('claim.json', claim);
  await agent.write('a.json', writer('a'));
  await agent.untilReady('a');
  expect(await look('a', 'touch /part/x; ls /data/a/part; stat -c "%a %g" /data')).toBe('x\n2777 2000\n');
  await agent.remove('a.json');
  await agent.untilPod('a', ({ events }) =>
    events.some((event) => event.type === 'Recorded' && event.reason === 'ClaimKept'),
  );

  await agent.kill9();
  await agent.start();
  await agent.write('b.json', writer('b'));
  await agent.untilReady('b');
  expect(await look('b', 'cat /data/lines')).toBe('a\nb\n');

  const folder = join(agent.rootDir, 'volumes', 'default', 'data');
  expect(await agent.down()).toEqual({
    code: 0,
    stdout: 'kubelet-ts stopped\npod default/b-edge1 removed\nclaim default/data keeps its data\n',
    stderr: `hint: The data are in ${join(agent.rootDir, 'volumes')}; down --volumes deletes them.\n`,
  });
  expect(existsSync(join(folder, 'lines'))).toBe(true);
  expect(await agent.down('--volumes')).toEqual({ code: 0, stdout: 'claim default/data deleted\n', stderr: '' });
  expect(existsSync(folder)).toBe(false);
});

import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Agent, isReady, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

let agent: Agent;

beforeEach(async () => {
  agent = await startAgent();
});
afterEach(() => agent.cleanUp());

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

/** The script, once the file has this number of lines: a container is Ready before its first command has run. */
const whenLong = (file: string, lines: number, script: string): string =>
  `until [ "$(wc -l < ${file})" = ${lines} ]; do sleep 0.05; done; ${script}`;

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
  await agent.waitForLog(({ reason }) => reason === 'ClaimKept');

  await agent.kill9();
  await agent.start();
  await agent.write('b.json', writer('b'));
  await agent.untilReady('b');
  expect(await look('b', whenLong('/data/lines', 2, 'cat /data/lines'))).toBe('a\nb\n');

  const folder = join(agent.rootDir, 'volumes', 'default', 'data');
  expect(await agent.down()).toEqual({
    code: 0,
    stdout: 'kubelet-ts stopped\npod default/b-edge1 removed\nclaim default/data keeps its data\n',
    stderr: `hint: The data is in ${join(agent.rootDir, 'volumes')}; delete it: kubelet-ts down --volumes\n`,
  });
  expect(existsSync(join(folder, 'lines'))).toBe(true);
  expect(await agent.down('--volumes')).toEqual({ code: 0, stdout: 'claim default/data deleted\n', stderr: '' });
  expect(existsSync(folder)).toBe(false);
});

test('the data of claims and the volume of one outlive a power cut and down --all', async () => {
  const [large, small] = ['large', 'small'].map((name) => join(agent.rootDir, name)) as [string, string];
  await Promise.all([large, small].map((path) => mkdir(path)));
  const volume = (path: string, storage: string): object => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: basename(path) },
    spec: { capacity: { storage }, accessModes: ['ReadWriteOnce'], storageClassName: 'disk', local: { path } },
  });
  const onDisk = { ...claim, metadata: { name: 'disk' }, spec: { ...claim.spec, storageClassName: 'disk' } };
  const declared = [claim, onDisk, volume(large, '10Gi')];
  const addLine = `echo "$(cat /data/lines /disk/lines | wc -l)" | tee -a /data/lines /disk/lines; ${serve}`;
  await agent.write('storage.json', { apiVersion: 'v1', kind: 'List', items: declared });
  await agent.write(
    'a.json',
    makePod('a', {
      volumes: ['data', 'disk'].map((name) => ({ name, persistentVolumeClaim: { claimName: name } })),
      containers: [
        shell('main', addLine, { volumeMounts: ['data', 'disk'].map((name) => ({ name, mountPath: `/${name}` })) }),
      ],
    }),
  );
  await agent.untilReady('a');

  await agent.powerOff();
  // A volume that fits better does not take the place of the one that has the data.
  await agent.write('storage.json', { apiVersion: 'v1', kind: 'List', items: [...declared, volume(small, '1Gi')] });
  await agent.start();
  await agent.untilPod('a', (pod) => isReady(pod) && pod.pod.status?.containerStatuses?.[0]?.restartCount === 1);
  const lines = 'cat /data/lines /disk/lines';
  expect(await look('a', whenLong('/disk/lines', 2, lines))).toBe('0\n2\n0\n2\n');

  const hint = `hint: The data is in ${join(agent.rootDir, 'volumes')}; delete it: kubelet-ts down --volumes\n`;
  expect(await agent.down('--all')).toEqual({
    code: 0,
    stdout:
      'kubelet-ts stopped\npod default/a-edge1 removed\nclaim default/data keeps its data\nmanaged containerd stopped\n',
    stderr: hint,
  });
  await agent.start();
  await agent.untilReady('a');
  expect(await look('a', whenLong('/disk/lines', 3, lines))).toBe('0\n2\n4\n0\n2\n4\n');

  expect(await agent.down('--volumes')).toMatchObject({ code: 0, stderr: '' });
  expect(await readFile(join(large, 'lines'), 'utf8')).toBe('0\n2\n4\n');
});

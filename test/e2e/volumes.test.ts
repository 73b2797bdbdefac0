import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Volume } from '../../src/api/types.ts';
import { type Agent, startAgent } from './agent.ts';
import { mountsBelow } from './leftovers.ts';
import { makePod, nothing, serve, shell } from './manifests.ts';
import { untilGone } from './until-gone.ts';

let agent: Agent;

beforeAll(async () => {
  agent = await startAgent();
});
afterEach(() => agent.removeAll());
afterAll(() => agent.cleanUp());

/** Mounts every volume at `/<its name>`. */
const mountsOf = (volumes: readonly Volume[]) => volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));

/** What a shell script in the pod prints. */
async function look(script: string): Promise<string> {
  const { code, stdout, stderr } = await agent.cli(['exec', 'web', '--', 'sh', '-c', script]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

const downward = (path: string, fieldPath: string) => ({ path, fieldRef: { fieldPath } });

test('a container sees a new label while it runs, when its pod has its own UID', async () => {
  const volumes: Volume[] = [{ name: 'info', downwardAPI: { items: [downward('labels', 'metadata.labels')] } }];
  const app = shell('app', serve, { volumeMounts: mountsOf(volumes) });
  const write = (color: string): Promise<void> =>
    agent.write('web.yaml', {
      ...makePod('web', { volumes, containers: [app] }),
      metadata: { name: 'web', uid: 'of-its-own', labels: { color } },
    });
  await write('blue');
  await agent.untilReady('web');
  const { id } = await agent.runningContainer('web');
  expect(await look('cat /info/labels')).toBe('color="blue"');
  await write('green');
  expect(await look('until grep green /info/labels; do sleep 0.05; done')).toBe('color="green"\n');
  expect((await agent.runningContainer('web')).id).toBe(id);
});

const configMap = (data: Readonly<Record<string, string>>): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings' },
  data,
});

test('a container sees its ConfigMap and Secret, in files and variables, and the files follow a change', async () => {
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'login' }, stringData: { password: 'hunter2' } };
  const volumes: Volume[] = [
    { name: 'config', configMap: { name: 'settings' } },
    { name: 'login', secret: { secretName: 'login', defaultMode: 0o400 } },
    { name: 'both', projected: { sources: [{ configMap: { name: 'settings' } }, { secret: { name: 'login' } }] } },
  ];
  const app = shell('app', serve, {
    volumeMounts: mountsOf(volumes),
    env: [{ name: 'MODE', valueFrom: { configMapKeyRef: { name: 'settings', key: 'mode' } } }],
    envFrom: [{ prefix: 'LOGIN_', secretRef: { name: 'login' } }],
  });
  await agent.write('login.yaml', secret);
  await agent.write('settings.yaml', configMap({ mode: 'blue' }));
  await agent.write('web.yaml', makePod('web', { volumes, containers: [app] }));
  await agent.untilReady('web');
  const { id } = await agent.runningContainer('web');
  expect(await look('echo $MODE $LOGIN_password; cat /config/mode /login/password /both/mode /both/password')).toBe(
    'blue hunter2\nbluehunter2bluehunter2',
  );
  expect(await look('stat -L -c %a /config/mode /login/password; stat -f -c %T /login /both')).toBe(
    '644\n400\ntmpfs\ntmpfs\n',
  );

  await agent.write('settings.yaml', configMap({ mode: 'green', size: '3' }));
  expect(
    await look('until grep -q green /config/mode && grep -q green /both/mode; do sleep 0.05; done; ls /config'),
  ).toBe('mode\nsize\n');
  expect(await look('echo $MODE')).toBe('blue\n');
  expect((await agent.runningContainer('web')).id).toBe(id);
  expect(agent.logText()).not.toContain('hunter2');
});

test('a pod that lacks its ConfigMap says so, and starts when that comes', async () => {
  const volumes: Volume[] = [{ name: 'config', configMap: { name: 'settings' } }];
  const app = shell('app', serve, { volumeMounts: mountsOf(volumes) });
  await agent.write('web.yaml', makePod('web', { volumes, containers: [app] }));
  const message = 'MountVolume.SetUp failed for volume "config" : configmap "settings" not found';
  await agent.untilPod('web', ({ events }) =>
    events.some((event) => event.type === 'Recorded' && event.message === message),
  );
  await agent.write('settings.yaml', configMap({ mode: 'blue' }));
  await agent.untilReady('web');
  expect(await look('cat /config/mode')).toBe('blue');
});

test('a volume in memory is as large as the pod may use', async () => {
  const volumes: Volume[] = [
    { name: 'small', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
    { name: 'rest', emptyDir: { medium: 'Memory' } },
  ];
  const app = shell('app', serve, { volumeMounts: mountsOf(volumes), resources: { limits: { memory: '32Mi' } } });
  await agent.write('web.yaml', makePod('web', { volumes, containers: [app] }));
  await agent.untilReady('web');
  expect(await look(`df -k /small /rest | awk 'NR > 1 { print $2 }'`)).toBe('1024\n32768\n');
});

test('a pod whose emptyDir grows beyond its limit is evicted, and comes back with an empty one', async () => {
  const volumes: Volume[] = [{ name: 'cache', emptyDir: { sizeLimit: '1Mi' } }];
  const app = shell('app', serve, { volumeMounts: mountsOf(volumes) });
  await agent.write('web.yaml', makePod('web', { volumes, containers: [app] }));
  const { pod: before } = await agent.untilReady('web');
  await look('dd if=/dev/zero of=/cache/file bs=1k count=2048 2>/dev/null');
  const { pod } = await agent.untilPod('web', ({ worker }) => worker.state === 'finished');
  expect(pod.status).toMatchObject({
    phase: 'Failed',
    reason: 'Evicted',
    message: 'Usage of EmptyDir volume "cache" exceeds the limit "1Mi". ',
  });
  const { pod: after } = await agent.untilReady('web');
  expect(after.metadata.uid).toBe(before.metadata.uid);
  expect(await look('ls /cache')).toBe('');
});

test('a tmpfs that a killed agent left is unmounted, and nothing of the machine is deleted through it', async () => {
  const volumes: Volume[] = [{ name: 'memory', emptyDir: { medium: 'Memory' } }];
  const app = shell('app', serve, { volumeMounts: mountsOf(volumes) });
  await agent.write('web.yaml', makePod('web', { volumes, containers: [app] }));
  const { pod } = await agent.untilReady('web');
  await agent.kill9();
  const precious = join(agent.rootDir, 'precious');
  await mkdir(precious);
  await writeFile(join(precious, 'file'), 'still here');
  const inside = join(agent.rootDir, 'pods', pod.metadata.uid, 'volumes/kubernetes.io~empty-dir/memory/bound');
  await mkdir(inside);
  await execa('mount', ['--bind', precious, inside]);
  await agent.remove('web.yaml');
  await agent.write('nothing.yaml', nothing);
  await agent.start();
  await untilGone(join(agent.rootDir, 'pods', pod.metadata.uid));
  expect(await mountsBelow(join(agent.rootDir, 'pods'))).toEqual([]);
  expect(await readdir(join(agent.rootDir, 'pods'))).toEqual([]);
  expect(await readFile(join(precious, 'file'), 'utf8')).toBe('still here');
});

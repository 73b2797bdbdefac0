import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Container, Volume } from '../../src/api/types.ts';
import type { PodSnapshot } from '../../src/engine/view/snapshot.ts';
import { type Agent, isReady, startAgent } from './agent.ts';
import { mountsBelow } from './leftovers.ts';
import { hostFolder, makePod, serve, shell } from './manifests.ts';

let agent: Agent;
/** A folder of the machine that no container has: what is in it must be neither seen nor changed. */
let host: string;
let configFolder: string;

beforeAll(async () => {
  configFolder = await mkdtemp(join(tmpdir(), 'kts-config-'));
  const config = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    featureGates: { KubeletCrashLoopBackOffMax: true },
    crashLoopBackOff: { maxContainerRestartPeriod: '1s' },
  };
  await writeFile(join(configFolder, 'config.yaml'), JSON.stringify(config));
  agent = await startAgent({ flags: ['--config', join(configFolder, 'config.yaml')] });
  host = join(agent.rootDir, 'host');
  await mkdir(join(host, 'b'), { recursive: true });
  for (const file of ['secret', 'b/secret']) await writeFile(join(host, file), secret);
});
afterEach(async () => {
  await agent.removeAll();
  expect(await mountsBelow(join(agent.rootDir, 'pods'))).toEqual([]);
  const files = (await readdir(host, { recursive: true })).sort();
  expect(files).toEqual(['b', 'b/secret', 'secret']);
  for (const file of ['secret', 'b/secret']) expect(await readFile(join(host, file), 'utf8')).toBe(secret);
});
afterAll(async () => {
  await agent.cleanUp();
  await rm(configFolder, { recursive: true });
});

const secret = 'of the machine';
const disk: Volume = { name: 'disk', emptyDir: {} };

/** Mounts a part of the volume `disk` at `/part`. */
const part = (subPath: string) => ({ name: 'disk', mountPath: '/part', subPath });

/** What a shell script in a container of the pod `web` prints. */
async function look(script: string, container = 'app'): Promise<string> {
  const { code, stdout, stderr } = await agent.cli(['exec', 'web', '-c', container, '--', 'sh', '-c', script]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

const restartsOf = ({ pod }: PodSnapshot): number =>
  (pod.status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);

/** Why each container of a pod waits, by its name. */
const waiting = ({ pod }: PodSnapshot): Record<string, string> =>
  Object.fromEntries(
    (pod.status?.containerStatuses ?? []).map(({ name, state }) => [
      name,
      `${state?.waiting?.reason}: ${state?.waiting?.message}`,
    ]),
  );

test('a container sees the folders and files that it names of its volumes, and can write to those that are made', async () => {
  await agent.write('settings.yaml', {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'settings' },
    data: { mode: 'blue', other: 'x' },
  });
  const folder = join(agent.rootDir, 'shared');
  await mkdir(join(folder, 'logs'), { recursive: true });
  await writeFile(join(folder, 'motd'), 'hello');
  const volumes: Volume[] = [
    disk,
    { name: 'memory', emptyDir: { medium: 'Memory' } },
    { name: 'config', configMap: { name: 'settings' } },
    hostFolder('shared', folder),
  ];
  const app = shell('app', serve, {
    env: [{ name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
    volumeMounts: [
      { name: 'disk', mountPath: '/data', subPath: 'a/b' },
      { name: 'memory', mountPath: '/named', subPathExpr: 'pods/$(NAME)' },
      { name: 'config', mountPath: '/etc/mode', subPath: 'mode' },
      { name: 'shared', mountPath: '/motd', subPath: 'motd', readOnly: true },
      { name: 'disk', mountPath: '/all' },
      { name: 'memory', mountPath: '/memory' },
    ],
  });
  const securityContext = { runAsUser: 1000, runAsGroup: 1000, fsGroup: 2000 };
  await agent.write('web.yaml', makePod('web', { securityContext, volumes, containers: [app] }));
  await agent.untilReady('web');
  const script = `echo 1 > /data/file; echo 2 > /named/file; cat /all/a/b/file /memory/pods/web-*/file /etc/mode /motd
    echo; stat -c '%a %u %g' /data /named; touch /etc/mode 2>&1 || touch /motd 2>&1 || true`;
  expect((await look(script)).split('\n')).toEqual([
    ...['1', '2', 'bluehello', '2777 0 2000', '3777 0 2000'],
    'touch: /etc/mode: Read-only file system',
    'touch: /motd: Read-only file system',
    '',
  ]);
});

test('a file of a ConfigMap stays as it is until the container is started again', async () => {
  const settings = (mode: string): object => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'settings' },
    data: { mode },
  });
  const volumes: Volume[] = [{ name: 'config', configMap: { name: 'settings' } }, disk];
  const app = shell('app', `cp /mode /disk/seen; ${serve}`, {
    volumeMounts: [
      { name: 'config', mountPath: '/mode', subPath: 'mode' },
      { name: 'config', mountPath: '/config' },
      { name: 'disk', mountPath: '/disk' },
    ],
  });
  await agent.write('settings.yaml', settings('blue'));
  await agent.write('web.yaml', makePod('web', { volumes, containers: [app] }));
  await agent.untilReady('web');
  await agent.write('settings.yaml', settings('green'));
  expect(await look('until grep -q green /config/mode; do sleep 0.05; done; cat /mode /disk/seen')).toBe('blueblue');
  const { pid } = await agent.runningContainer('web');
  process.kill(pid, 'SIGKILL');
  await agent.untilPod('web', (entry) => isReady(entry) && restartsOf(entry) === 1);
  expect(await look('until grep -q green /disk/seen; do sleep 0.05; done; cat /mode /disk/seen')).toBe('greengreen');
});

test('parts that a killed agent left mounted are used again, and unmounted with the pod', async () => {
  const app = shell('app', `echo >> /part/starts; ${serve}`, { volumeMounts: [part('a')] });
  await agent.write('web.yaml', makePod('web', { volumes: [disk], containers: [app] }));
  const { pod } = await agent.untilReady('web');
  await agent.kill9();
  const { pid } = await agent.runningContainer('web');
  process.kill(pid, 'SIGKILL');
  await agent.start();
  await agent.untilPod('web', (entry) => isReady(entry) && restartsOf(entry) === 1);
  expect(await look('wc -l < /part/starts')).toBe('2\n');
  const target = join(agent.rootDir, 'pods', pod.metadata.uid, 'volume-subpaths/disk/app/0');
  expect(await mountsBelow(join(agent.rootDir, 'pods'))).toEqual([target]);
});

test('links, pipes and devices that a container put into its volume lead nowhere', async () => {
  const traps = {
    absolute: `ln -s ${host} /disk/absolute`,
    file: `ln -s ${host}/secret /disk/file`,
    root: 'ln -s / /disk/root',
    up: 'ln -s ../../../../../host /disk/up',
    parent: 'ln -s .. /disk/parent',
    process: 'ln -s /proc/self/root /disk/process',
    descriptor: 'ln -s /dev/fd/0 /disk/descriptor',
    chain: 'ln -s chain2 /disk/chain; ln -s absolute /disk/chain2',
    loop: 'ln -s loop /disk/loop',
    below: `mkdir /disk/below; ln -s ${host} /disk/below/b`,
    dangling: `ln -s ${host}/new /disk/dangling`,
    pipe: 'mkfifo /disk/pipe',
    device: 'mknod /disk/device c 1 3',
  };
  const subPaths: Record<string, string> = {
    ...Object.fromEntries(Object.keys(traps).map((name) => [name, name])),
    ...{ inside: 'absolute/b', made: 'absolute/new', below: 'below/b', pipe: 'pipe/x', device: 'device/x' },
    ...{ root: `root${agent.rootDir}/host`, process: `process${agent.rootDir}/host` },
  };
  const attacker = shell('attacker', Object.values(traps).join('\n'), {
    volumeMounts: [{ name: 'disk', mountPath: '/disk' }],
  });
  const containers = Object.entries(subPaths).map(([name, subPath]) =>
    shell(name, serve, { volumeMounts: [part(subPath)] }),
  );
  await agent.write('web.yaml', makePod('web', { volumes: [disk], initContainers: [attacker], containers }));
  const entry = await agent.untilPod('web', ({ pod }) => {
    const statuses = pod.status?.containerStatuses ?? [];
    return (
      statuses.length > 0 && statuses.every(({ state }) => state?.waiting?.reason === 'CreateContainerConfigError')
    );
  });
  const refusal = (name: string): unknown => {
    const what = ['dangling', 'made'].includes(name) ? 'create subPath directory' : 'prepare subPath';
    return expect.stringContaining(
      `CreateContainerConfigError: failed to ${what} for volumeMount "disk" of container "${name}": `,
    );
  };
  expect(waiting(entry)).toEqual(Object.fromEntries(Object.keys(subPaths).map((name) => [name, refusal(name)])));
  expect(agent.logText()).toContain('the path is outside of the volume');
});

test('a container that changes folders into links all the time shows no other the machine', async () => {
  const results = hostFolder('results', join(agent.rootDir, 'results'));
  await mkdir(join(agent.rootDir, 'results'));
  await writeFile(join(agent.rootDir, 'results/seen'), '');
  // Now and then everything is as it should be, so that some containers start.
  const swap = `mkdir -p real/b; ln -s ${host} out; while :; do
    for i in 1 2 3 4 5 6 7 8; do
      rm -rf a; ln -s ${host} a; rm -f a; mkdir -p a/b; rm -rf a/b; ln -s ../out/b a/b; rm -rf a
      ln -sfn real link; ln -sfn out link
    done
    mkdir -p a/b; ln -sfn real link; sleep 0.2; done`;
  const attacker = shell('attacker', `trap "exit 0" TERM; cd /disk; ${swap}`, {
    volumeMounts: [{ name: 'disk', mountPath: '/disk' }],
  });
  // Each looks for what it must not see, tries to delete it, and ends: it is started again.
  const victim = (name: string, subPath: string): Container =>
    shell(name, `grep -rs "${secret}" /part >> /results/seen; echo ${name} >> /results/starts; rm -rf /part/*`, {
      volumeMounts: [part(subPath), { name: 'results', mountPath: '/results' }],
    });
  const subPaths = ['a', 'a/b', 'a/new', 'link', 'link/b', 'link/new/deep'];
  const victims = subPaths.map((subPath, index) => victim(`victim${index}`, subPath));
  // Whenever this one ends, all that do not run are tried again.
  const ticker = shell('ticker', 'exit 0');
  const containers = [attacker, ticker, ...victims];
  await agent.write('web.yaml', makePod('web', { volumes: [disk, results], containers }));
  const restarts = ({ pod }: PodSnapshot): number =>
    pod.status?.containerStatuses?.find(({ name }) => name === 'ticker')?.restartCount ?? 0;
  await agent.untilPod('web', (entry) => restarts(entry) >= 3);
  expect(await readFile(join(agent.rootDir, 'results/seen'), 'utf8')).toBe('');
});

test('what a container linked to in its volumes stays when these are removed', async () => {
  const volumes: Volume[] = [disk, { name: 'memory', emptyDir: { medium: 'Memory' } }];
  const script = `for volume in /disk /memory; do
    mkdir -p $volume/a/b; ln -s ${host} $volume/link; ln -s ${host}/secret $volume/a/b/file; ln -s ../../../host $volume/up
    done; ${serve}`;
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  await agent.write('web.yaml', makePod('web', { volumes, containers: [shell('app', script, { volumeMounts })] }));
  await agent.untilReady('web');
  expect(await look('until [ -L /memory/up ]; do sleep 0.05; done; ls /disk /memory')).toBe(
    '/disk:\na\nlink\nup\n\n/memory:\na\nlink\nup\n',
  );
  await agent.removeAll();
  expect(await readdir(join(agent.rootDir, 'pods'))).toEqual([]);
});

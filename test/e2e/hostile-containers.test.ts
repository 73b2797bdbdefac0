import { execFileSync } from 'node:child_process';
import { link, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Container, ContainerStatus } from '../../src/api/types.ts';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

/** What containers do to the agent that looks after them. */
let agent: Agent;
beforeAll(async () => {
  agent = await startAgent();
});
afterEach(() => agent.removeAll());
afterAll(() => agent.cleanUp());

const names = ['one', 'two', 'three', 'four', 'five', 'six'];
const pipe = { name: 'disk', mountPath: '/dev/termination-log', subPath: 'pipe' };

/** A pod that ends with a named pipe where its termination message is looked for. */
const pipePod = (name: string): object =>
  makePod(name, {
    restartPolicy: 'Never',
    volumes: [{ name: 'disk', emptyDir: {} }],
    initContainers: [shell('pipe', 'mkfifo /disk/pipe', { volumeMounts: [{ name: 'disk', mountPath: '/disk' }] })],
    containers: [shell('app', 'exit 1', { volumeMounts: [pipe] })],
  });

const ended = (status: ContainerStatus | undefined): boolean => status?.state?.terminated !== undefined;

test('named pipes in the place of termination messages hold up nothing, and their pods go', async () => {
  for (const name of names) await agent.write(`${name}.yaml`, pipePod(name));
  for (const name of names) {
    const { pod } = await agent.untilPod(name, ({ pod }) => ended(pod.status?.containerStatuses?.[0]));
    expect(pod.status?.containerStatuses?.[0]?.state?.terminated?.message).toMatch(
      /^Error on reading termination log \S+: \S+ is a named pipe, not a regular file$/,
    );
  }
  await agent.write('web.yaml', makePod('web', { containers: [shell('app', serve)] }));
  await agent.untilReady('web');
  expect((await agent.cli(['ps', '-o', 'name'])).stdout.split('\n').length).toBe(names.length + 2);
});

test('named pipes in the place of logs hold up nothing, and logs says what they are', async () => {
  const fallback = { terminationMessagePolicy: 'FallbackToLogsOnError' };
  for (const name of names) {
    await agent.write(
      `${name}.yaml`,
      makePod(name, { restartPolicy: 'Never', containers: [shell('app', `echo hi; ${serve}; exit 1`, fallback)] }),
    );
  }
  for (const name of names) {
    const { pod } = await agent.untilReady(name);
    const folder = join(agent.podLogsDir, `default_${pod.metadata.name}_${pod.metadata.uid}`, 'app');
    // A log that is missing would be made anew.
    await link(join(folder, '0.log'), join(folder, 'kept'));
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    await rename(join(folder, 'pipe'), join(folder, '0.log'));
  }
  const { pid } = await agent.runningContainer('one');
  process.kill(pid, 'SIGKILL');
  const { pod } = await agent.untilPod('one', ({ pod }) => ended(pod.status?.containerStatuses?.[0]));
  expect(pod.status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(137);
  const { code, stderr } = await agent.cli(['logs', 'two']);
  expect(code).toBe(1);
  expect(stderr).toMatch(/is a named pipe, not a regular file\n$/);
});

test('named pipes among the files of a pod keep it neither from being restarted nor from being removed', async () => {
  await agent.write('web.yaml', makePod('web', { hostNetwork: false, containers: [shell('app', serve)] }));
  const { pod } = await agent.untilReady('web');
  const folder = join(agent.rootDir, 'pods', pod.metadata.uid);
  const messages = join(folder, 'containers', 'app');
  for (const file of [join(folder, 'etc-hosts'), ...(await readdir(messages)).map((name) => join(messages, name))]) {
    await rm(file);
    execFileSync('mkfifo', [file]);
  }
  process.kill((await agent.runningContainer('web')).pid, 'SIGKILL');
  await agent.untilPod('web', ({ pod }) => pod.status?.containerStatuses?.[0]?.restartCount === 1);
  await agent.untilReady('web');
});

test('hooks that fail with megabytes of output cost the agent no memory', async () => {
  const command = ['sh', '-c', 'head -c 15000000 /dev/zero | tr "\\0" x; exit 1'];
  // From here on VmHWM is the peak: other tests of this file had theirs. proc(5)
  await writeFile(`/proc/${agent.pid}/clear_refs`, '5');
  const before = await memoryBytes('VmRSS');
  for (const name of names) {
    const app = shell('app', serve, { lifecycle: { postStart: { exec: { command } } } });
    await agent.write(`${name}.yaml`, makePod(name, { containers: [app] }));
  }
  for (const name of names) {
    const { pod } = await agent.untilPod(name, ({ events }) => JSON.stringify(events).includes('bytes left out'));
    expect(JSON.stringify(pod).length).toBeLessThan(20_000);
  }
  // Kept whole, the outputs of a few tries of six hooks took the agent to 1.2 GB.
  expect((await memoryBytes('VmHWM')) - before).toBeLessThan(100_000_000);
  // The next try never ends: until then the error of the first one stays.
  const once = ['sh', '-c', `[ ! -e /data/tried ] || sleep 3600; touch /data/tried; ${command.at(-1) ?? ''}`];
  const held = shell('app', serve, {
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
    lifecycle: { postStart: { exec: { command: once } } },
  });
  await agent.write('held.yaml', makePod('held', { volumes: [{ name: 'data', emptyDir: {} }], containers: [held] }));
  await agent.untilPod('held', ({ worker }) => worker.lastSyncError?.includes('bytes left out') === true);
  const { stdout } = await agent.cli(['describe', 'held']);
  expect(stdout).toMatch(/the command exited with 1: x+ … \d+ bytes left out/);
  expect(stdout.length).toBeLessThan(20_000);
});

test('nothing prints a value of a Secret', async () => {
  const value = 'c0rrect-h0rse"battery';
  const secretKeyRef = { name: 'token', key: 'token' };
  const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef } }];
  const telling = (name: string, script: string, more: object = {}): object => shell(name, script, { env, ...more });
  await agent.write('token.yaml', {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'token' },
    stringData: { token: value },
  });
  const failing = { exec: { command: ['sh', '-c', 'echo probe $TOKEN; exit 1'] } };
  const containers = {
    command: { ...telling('app', ''), command: ['/$(TOKEN)/run', '$(TOKEN)'] },
    probe: telling('app', serve, { readinessProbe: { ...failing, periodSeconds: 1 } }),
    hook: telling('app', serve, { lifecycle: { postStart: failing } }),
    message: telling('app', 'echo said $TOKEN, $(printf "%s" "$TOKEN" | base64) > /dev/termination-log; exit 3'),
  };
  for (const [name, container] of Object.entries(containers)) {
    await agent.write(`${name}.yaml`, makePod(name, { restartPolicy: 'Never', containers: [container as Container] }));
  }
  const said: string[] = [];
  for (const name of Object.keys(containers)) {
    await agent.untilPod(name, (pod) => JSON.stringify(pod).includes('<hidden>'));
    for (const flags of [[], ['-o', 'json'], ['-o', 'yaml']]) {
      said.push((await agent.cli(['describe', name, ...flags])).stdout);
    }
  }
  for (const format of ['wide', 'json', 'yaml']) said.push((await agent.cli(['ps', '-o', format])).stdout);
  await agent.stop();
  const history = join(agent.rootDir, 'state', 'history');
  for (const file of await readdir(history)) said.push(await readFile(join(history, file), 'utf8'));
  said.push(agent.logText());
  for (const form of ['h0rse', Buffer.from(value).toString('base64').slice(0, 20)]) {
    expect(said.filter((text) => text.includes(form))).toEqual([]);
  }
  said.splice(0);
  for (const name of Object.keys(containers)) said.push((await agent.cli(['describe', name])).stdout);
  said.push((await agent.cli(['ps', '-o', 'json'])).stdout);
  expect(said.filter((text) => text.includes('h0rse'))).toEqual([]);
  await agent.start();
});

/** What the agent takes, or took at most. */
async function memoryBytes(field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${agent.pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s*(\\d+) kB`).exec(status)?.[1]) * 1024;
}

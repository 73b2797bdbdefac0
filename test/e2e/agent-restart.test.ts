import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { execa } from 'execa';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Agent, nodeName, startAgent } from './agent.ts';
import { makePod, nothing, serve, shell } from './manifests.ts';
import { untilGone } from './until-gone.ts';

let agent: Agent;

const web = makePod('web', { containers: [shell('app', serve)] });

beforeAll(async () => {
  agent = await startAgent();
});
beforeEach(async () => {
  await agent.write('web.yaml', web);
  await agent.untilReady('web');
  await agent.until(({ pods }) => pods.length === 1);
});
afterEach(async () => {
  for (const name of await readdir(agent.manifestsFolder)) if (name !== 'web.yaml') await agent.remove(name);
});
afterAll(() => agent.cleanUp());

/** Lines of a stream, each awaited once. */
function linesOf(stream: Readable): { until: (isSo: (line: string) => boolean) => Promise<void> } {
  const lines: AsyncIterator<string, undefined> = createInterface({ input: stream })[Symbol.asyncIterator]();
  return {
    until: async (isSo) => {
      for (let next = await lines.next(); !isSo(next.value ?? ''); next = await lines.next()) {
        if (next.done === true) throw new Error(`the output ended: ${isSo.toString()}`);
      }
    },
  };
}

const restarts = async (): Promise<number | undefined> =>
  (await agent.untilReady('web')).pod.status?.containerStatuses?.[0]?.restartCount;

test('SIGTERM ends the agent and leaves the pods running for the next one', async () => {
  const before = await agent.runningContainer('web');
  expect(await agent.stop()).toEqual({ code: 0, signal: null });
  expect(await agent.runningContainer('web')).toEqual(before);
  await agent.start();
  expect(await restarts()).toBe(0);
  expect(await agent.runningContainer('web')).toEqual(before);
});

test('kill -9 in the middle of a start leaves nothing twice', async () => {
  await agent.write('other.yaml', makePod('other', { containers: [shell('app', serve)] }));
  await agent.untilPod('other', ({ worker }) => worker.working);
  await agent.kill9();
  await agent.start();
  const { pod } = await agent.untilReady('other');
  const { containers, sandboxes } = await agent.findPod(pod.metadata.uid);
  expect([containers.length, sandboxes.length]).toEqual([1, 1]);
});

test('ps -w and events -w go on with the next agent, and say that they wait for it', async () => {
  await agent.write('early.yaml', makePod('early', { containers: [shell('app', serve)] }));
  await agent.untilReady('early');
  const watches = [
    ['ps', '-w', '-o', 'name'],
    ['events', '-w', '-o', 'json'],
  ].map((words) => {
    const [command = '', ...rest] = agent.commandLine(words);
    const child = execa(command, rest, { env: agent.environment, reject: false, buffer: { stderr: false } });
    return { child, out: linesOf(child.stdout), err: linesOf(child.stderr) };
  });
  for (const { out } of watches) await out.until((line) => line.includes('early-edge1'));
  await agent.kill9();
  for (const { err } of watches) await err.until((line) => line.includes('waiting until it runs again'));
  // The first lines are of the past, so what comes after them is of the next agent.
  await agent.start();
  for (const { err } of watches) await err.until((line) => line === 'kubelet-ts is running again');
  await agent.write('late.yaml', makePod('late', { containers: [shell('app', serve)] }));
  for (const { out, child } of watches) {
    await out.until((line) => line.includes('late-edge1'));
    child.kill();
    await child;
  }
});

test('a second agent on the same root-dir is refused', async () => {
  expect(await agent.cli(['run', agent.manifestsFolder, '--no-tui', '--log-level', 'error'])).toEqual({
    code: 1,
    stdout: '',
    stderr: [
      `error: kubelet-ts already runs on this root-dir (pid ${agent.pid})`,
      'hint: Show it: kubelet-ts ui. Add pods to it: kubelet-ts apply -f FILE. ' +
        'Run a job next to it: kubelet-ts run-once --isolated FILE. Or use another --root-dir.',
      '',
    ].join('\n'),
  });
  expect(await restarts()).toBe(0);
});

test('a pod whose manifest went while no agent ran is stopped by the next one', async () => {
  await agent.write('gone.yaml', makePod('gone', { containers: [shell('app', serve)] }));
  const { pod } = await agent.untilReady('gone');
  const before = await agent.runningContainer('web');
  await agent.stop();
  await agent.remove('gone.yaml');
  await agent.start();
  // Its folder goes last.
  await untilGone(join(agent.rootDir, 'pods', pod.metadata.uid));
  expect(await agent.findPod(pod.metadata.uid)).toEqual({ containers: [], sandboxes: [], folders: [] });
  expect(await agent.runningContainer('web')).toEqual(before);
});

test('a managed containerd that is killed comes back, and its pods never stop', async () => {
  const before = await agent.runningContainer('web');
  process.kill(await agent.containerdPid(), 'SIGKILL');
  await agent.waitForLog(({ msg }) => msg === 'containerd answers again');
  expect(await agent.cli(['ps', '-o', 'name'])).toEqual({ code: 0, stdout: 'pod/web-edge1\n', stderr: '' });
  expect(await agent.runningContainer('web')).toEqual(before);
  // The engine works on it as before.
  await agent.write('next.yaml', makePod('next', { containers: [shell('app', serve)] }));
  await agent.untilReady('next');
  expect(await restarts()).toBe(0);
});

test('pods of somebody else in the same runtime are never touched', async () => {
  const connection = await agent.connect();
  try {
    const { runtime } = connection;
    const labels = {
      'io.kubernetes.pod.name': `foreign-${nodeName}`,
      'io.kubernetes.pod.namespace': 'default',
      'io.kubernetes.pod.uid': 'uid-of-somebody-else',
    };
    const sandboxConfig = {
      metadata: { name: `foreign-${nodeName}`, uid: 'uid-of-somebody-else', namespace: 'default', attempt: 0 },
      logDirectory: join(agent.rootDir, 'foreign-logs'),
      labels,
      linux: {
        cgroupParent: `${agent.cgroupRoot}/foreign`,
        securityContext: { namespaceOptions: { network: 'NODE' as const } },
      },
    };
    const { podSandboxId } = await runtime.runPodSandbox({ config: sandboxConfig });
    const { containerId } = await runtime.createContainer({
      podSandboxId,
      sandboxConfig,
      config: {
        metadata: { name: 'app', attempt: 0 },
        image: { image: 'localhost/busybox:1' },
        command: ['sh', '-c', serve],
        labels: { ...labels, 'io.kubernetes.container.name': 'app' },
        logPath: 'app.log',
        linux: {},
      },
    });
    await runtime.startContainer({ containerId });
    // An orphan of ours shows that orphans were looked for.
    const { pod } = await agent.untilReady('web');
    await agent.stop();
    await agent.remove('web.yaml');
    await agent.write('nothing.yaml', nothing);
    await agent.start();
    await untilGone(join(agent.rootDir, 'pods', pod.metadata.uid));
    expect((await agent.down()).stdout).toBe('kubelet-ts stopped\n');
    const { containers } = await runtime.listContainers({});
    expect(containers.map(({ id, state }) => ({ id, state }))).toEqual([
      { id: containerId, state: 'CONTAINER_RUNNING' },
    ]);
    await runtime.stopPodSandbox({ podSandboxId });
    await runtime.removePodSandbox({ podSandboxId });
    await agent.start();
  } finally {
    connection.close();
  }
});

test('down stops pods and containerd of an agent that was killed with its containerd; commands then name the socket', async () => {
  const pid = await agent.containerdPid();
  await agent.kill9();
  process.kill(pid, 'SIGKILL');
  expect(await agent.down('--all')).toEqual({
    code: 0,
    stdout: 'pod default/web-edge1 removed\nmanaged containerd stopped\n',
    stderr: '',
  });
  const said = await Promise.all(
    [['ps'], ['logs', 'web'], ['exec', 'web', '--', 'true'], ['images', 'list']].map((words) => agent.cli(words)),
  );
  const endpoint = `unix://${agent.rootDir}/containerd/containerd.sock`;
  const nobody = {
    code: 1,
    stdout: '',
    stderr: `error: no container runtime answers at ${endpoint}\nhint: kubelet-ts run starts it.\n`,
  };
  const unsupervised = `warning: no kubelet-ts runs on ${agent.rootDir}: nothing restarts or probes pods\n`;
  expect(said).toEqual([{ ...nobody, stderr: unsupervised + nobody.stderr }, nobody, nobody, nobody]);
});

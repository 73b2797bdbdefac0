import { afterEach, beforeEach, expect, test } from 'vitest';
import { managedPaths } from '../../src/containerd/managed-paths.ts';
import { Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

let first: Agent;
let second: Agent;
let shared: string[];

// Two root-dirs on one containerd, with one manifest, one node name, one place for logs and cgroups.
beforeEach(async () => {
  first = await startAgent({ manifests: { 'web.yaml': makePod('web', { containers: [shell('app', serve)] }) } });
  await first.untilReady('web');
  shared = ['--pod-logs-dir', first.podLogsDir, '--cgroup-root', first.cgroupRoot];
  second = await Agent.create({
    flags: [first.manifestsFolder, ...shared],
    environment: { CONTAINER_RUNTIME_ENDPOINT: managedPaths(first.rootDir).endpoint },
    images: [],
  });
});
afterEach(async () => {
  await second.down(...shared);
  await second.cleanUp();
  await first.cleanUp();
});

test('the second agent says who has the pod, kills nothing, and starts it when the first went down', async () => {
  const before = await first.runningContainer('web');
  const { pod } = await first.untilReady('web');
  await second.start();
  const refused = await second.untilPod('web', ({ rejection }) => rejection !== undefined);
  expect(refused.rejection).toEqual({
    reason: 'PodUIDTaken',
    message:
      `UID ${pod.metadata.uid} belongs to a pod of the kubelet-ts of --root-dir ${first.rootDir}; ` +
      'this pod starts when that one is removed',
    retryOn: 'podEnd',
  });
  await second.stop();
  expect(await second.down(...shared)).toEqual({
    code: 0,
    stdout: `nothing to stop: ${second.rootDir} has no agent and no pods\n`,
    stderr: '',
  });
  expect(await first.runningContainer('web')).toEqual(before);
  await second.start();
  expect(await first.down()).toMatchObject({ code: 0 });
  const { pod: mine } = await second.untilReady('web');
  expect(mine.metadata.uid).toBe(pod.metadata.uid);
});

test('without an agent the commands of a root-dir see its own pods alone', async () => {
  await first.stop();
  expect((await first.cli(['ps'])).stdout).toContain('web-edge1');
  expect((await second.cli(['ps'])).stdout).not.toContain('web-edge1');
  for (const words of [
    ['logs', 'web'],
    ['exec', 'web', '--', 'true'],
  ]) {
    const { code, stderr } = await second.cli(words);
    expect([code, stderr.split('\n')[0]]).toEqual([1, 'error: no pod "web"']);
  }
  expect(await first.cli(['exec', 'web', '--', 'true'])).toEqual({ code: 0, stdout: '', stderr: '' });
});

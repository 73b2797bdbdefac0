import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { PodRemover } from '../../../src/engine/kuberuntime/pod-remover.ts';
import { containerLogSymlinkName } from '../../../src/engine/container/log-paths.ts';
import { RuntimePods } from '../../../src/engine/kuberuntime/runtime-pods.ts';
import { startRuntimePod } from '../../builders/runtime-pod.ts';
import { untilFilesRest } from '../../support/file-operations.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { noForeignPods } from '../../fakes/no-foreign-pods.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';

let runtime: FakeRuntime;
let runtimePods: RuntimePods;
let remover: PodRemover;
let podLogsDir: string;
let containerLogLinksDir: string;

beforeEach(async () => {
  const folder = await temporaryFolder();
  podLogsDir = join(folder, 'pods');
  containerLogLinksDir = join(folder, 'links');
  await mkdir(podLogsDir);
  await mkdir(containerLogLinksDir);
  runtime = new FakeRuntime({ clock: new FakeClock() });
  runtime.addImage('app:1');
  runtimePods = new RuntimePods({ runtime, readTerminationMessage: ({ message }) => Promise.resolve(message) });
  remover = new PodRemover({ runtime, foreignPods: noForeignPods(runtime), podLogsDir, containerLogLinksDir });
});

test('a pod that the runtime has no more, as its removal was cut off, leaves no logs', async () => {
  for (const name of ['default_web_u1', 'default_db_u2'])
    await mkdir(join(podLogsDir, name, 'main'), { recursive: true });
  await remover.removePod('u1', undefined);
  expect(await readdir(podLogsDir)).toEqual(['default_db_u2']);
});

test.each([
  ['a way out', '../../precious'],
  ['a NUL', 'a\0b'],
  ['a long name', 'a'.repeat(300)],
])('the removal of a pod with %s in its name removes nothing next to it', async (_what, uid) => {
  await mkdir(join(podLogsDir, 'precious'));
  const pod = { uid, name: uid, namespace: '..', createdAt: 0, sandboxes: [], containers: [] };
  const container = { id: 'c', name: uid, state: 'exited' as const, createdAt: 0, sandboxID: 's' };
  await remover.removePod(uid, { ...pod, containers: [container] });
  expect(await readdir(podLogsDir)).toEqual(['precious']);
});

test('a container that restarts with all others of its pod leaves its own log and no earlier ones', async () => {
  const { container } = await startRuntimePod(runtime, 'web');
  runtime.exitContainer(container, 42);
  const logs = join(podLogsDir, 'default_web_web', 'main');
  await mkdir(logs, { recursive: true });
  for (const file of ['0.log', '1.log', '1.log.20250101-000000.gz', '2.log', '2.log.20250101-000000'])
    await writeFile(join(logs, file), '');
  const pod = { uid: 'web', name: 'web', namespace: 'default' };
  await remover.resetContainer(pod, { id: container, name: 'main', restartCount: 2 });
  expect((await readdir(logs)).sort()).toEqual(['2.log', '2.log.20250101-000000']);
  expect((await runtimePods.getPodStatus('web')).containerStatuses).toEqual([]);
});

test('without any logs there is nothing to remove', async () => {
  remover = new PodRemover({
    runtime,
    foreignPods: noForeignPods(runtime),
    podLogsDir: join(podLogsDir, 'absent'),
    containerLogLinksDir,
  });
  await expect(remover.removePod('u1', undefined)).resolves.toBeUndefined();
});

test.each(['the container', 'its pod'])('the link to a log goes before %s, by which it is found', async (what) => {
  const { container } = await startRuntimePod(runtime, 'web');
  const link = containerLogSymlinkName({ name: 'web', namespace: 'default' }, 'main', container);
  await symlink('/nowhere', join(containerLogLinksDir, link));
  runtime.exitContainer(container, 0);
  const release = runtime.hang('removeContainer');
  const [pod] = await runtimePods.getPods({});
  const status = await runtimePods.getPodStatus('web');
  const [dead] = status.containerStatuses;
  if (dead === undefined) throw new Error('the container is not there');
  const removal = what === 'its pod' ? remover.removePod('web', pod) : remover.removeContainer(status, dead);
  await runtime.waitForCall('removeContainer');
  expect(await readdir(containerLogLinksDir)).toEqual([]);
  release();
  await removal;
});

test('a container that is being removed is not removed a second time, which the runtime would refuse', async () => {
  const { container } = await startRuntimePod(runtime, 'web');
  runtime.exitContainer(container, 0);
  const release = runtime.hang('removeContainer');
  const [pod] = await runtimePods.getPods({});
  const status = await runtimePods.getPodStatus('web');
  const [dead] = status.containerStatuses;
  if (dead === undefined) throw new Error('the container is not there');
  const removals = [remover.removeContainer(status, dead)];
  await runtime.waitForCall('removeContainer');
  removals.push(remover.removePod('web', pod));
  // It removes the link, then asks the runtime.
  await untilFilesRest();
  release();
  await Promise.all(removals);
  expect(runtime.requestsOf('removeContainer')).toEqual([{ containerId: container }]);
});

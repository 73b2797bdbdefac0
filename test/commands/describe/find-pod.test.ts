import { mkdir, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { findPod, findPods } from '../../../src/commands/describe/find-pod.ts';
import { smallestPod } from '../../../src/commands/habits/foreign-commands.ts';
import { LastGoodManifests } from '../../../src/engine/config/last-good/last-good-manifests.ts';
import { historyFolder, historyPath } from '../../../src/engine/history/history-file.ts';
import { UserError } from '../../../src/errors.ts';
import { startRuntimePod } from '../../builders/runtime-pod.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeEntry, makeSnapshot } from '../../tui/make-snapshot.ts';
import { makeDeps, makeRuntime } from '../runtime-listings.ts';

/** The name of the pod that a reference means, beside an agent with these pods, on a disk with these histories. */
async function found(reference: string, { now, past }: { now: string[]; past: string[] }): Promise<string> {
  const rootDir = await temporaryFolder();
  const folder = historyFolder(rootDir);
  await mkdir(folder, { recursive: true });
  for (const name of past) await writeFile(historyPath(folder, { namespace: 'default', name }), '');
  const snapshot = makeSnapshot(now.map((name) => makeEntry(name)));
  const { name } = await findPod(makeDeps(makeRuntime([], [])), reference, { rootDir }, snapshot);
  return name;
}

test.each([
  ['of this node before one of another node', { now: ['web-edge2'], past: ['web-edge1'] }, 'web-edge1'],
  ['of another node', { now: ['db-edge1'], past: ['web-edge2'] }, 'web-edge2'],
])('the removed pod %s is found without the name of the node', async (_which, known, name) => {
  expect(await found('web', known)).toBe(name);
});

test('without an agent and a runtime, an unknown pod has these as its cause', async () => {
  const rootDir = await temporaryFolder();
  const connect = (): Promise<never> => Promise.reject(new UserError('no container runtime answers at unix:///a.sock'));
  const deps = makeDeps(makeRuntime([], []), { connect });
  await expect(findPod(deps, 'web', { rootDir }, undefined)).rejects.toMatchObject({
    name: 'UserError',
    message: 'no pod "web"',
    hint: `No kubelet-ts runs on ${rootDir}, and no container runtime answers. Start it: kubelet-ts run MANIFEST.`,
  });
});

test('without an agent, a runtime that does not answer is not reported as a node without pods', async () => {
  const rootDir = await temporaryFolder();
  const error = new UserError('no container runtime answers at unix:///a.sock', { hint: 'Start it.' });
  const deps = makeDeps(makeRuntime([], []), { connect: () => Promise.reject(error) });
  await expect(findPods(deps, [], { rootDir }, undefined)).rejects.toBe(error);
});

test('without an agent, a runtime without pods is not reported as the cause', async () => {
  const rootDir = await temporaryFolder();
  const runtime = new FakeRuntime({ clock: new FakeClock() });
  await expect(findPod(makeDeps(runtime), 'web', { rootDir }, undefined)).rejects.toMatchObject({
    message: 'no pod "web"',
    hint: 'There are no pods.',
  });
});

test('without an agent, a pod in the runtime has the file that declared it last', async () => {
  const rootDir = await temporaryFolder();
  const node = hostname().toLowerCase();
  const lastGood = new LastGoodManifests({ rootDir, clock: new FakeClock(), logger: silentLogger });
  await lastGood.save('file', '/m/web.yaml', Buffer.from(smallestPod));
  const runtime = new FakeRuntime({ clock: new FakeClock() });
  runtime.addImage('app:1');
  await startRuntimePod(runtime, `web-${node}`);
  const { pods } = await findPod(makeDeps(runtime), 'web', { rootDir }, undefined);
  expect(pods.map(({ source, declaredBy }) => ({ source, declaredBy }))).toEqual([
    { source: 'file', declaredBy: { where: '/m/web.yaml' } },
  ]);
});

test('the beginning of a name does not match', async () => {
  await expect(found('web', { now: ['web-admin-edge1'], past: ['web-admin-edge1'] })).rejects.toMatchObject({
    message: 'no pod "web"',
    hint: 'Pods: default/web-admin-edge1.',
  });
});

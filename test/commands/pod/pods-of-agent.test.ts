import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { type PodSelection, podsOfAgent } from '../../../src/commands/pod/pods-of-agent.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeEntry } from '../../tui/make-snapshot.ts';
import { startFakeAgent } from '../fake-agent.ts';
import { noAgentOn } from '../no-agent-on.ts';

/** The pods that these references mean, for an agent with pods of these names. */
async function meant(
  names: readonly string[],
  references: readonly string[],
  choice: PodSelection = {},
  sources: readonly object[] = [],
): Promise<unknown> {
  const rootDir = await temporaryFolder();
  const pods = names.map((name) => makeEntry(name));
  await startFakeAgent(rootDir, { '/v1/snapshot': { nodeName: 'edge1', pods, sources } });
  return podsOfAgent(rootDir, references, choice, new PassThrough());
}

test('a pod is meant by its name, with or without that of the node', async () => {
  expect(await meant(['web-edge1', 'web-admin-edge1'], ['web', 'web-admin', 'default/web-edge1'])).toEqual([
    { namespace: 'default', name: 'web-edge1', uid: 'uid-web-edge1' },
    { namespace: 'default', name: 'web-admin-edge1', uid: 'uid-web-admin-edge1' },
    { namespace: 'default', name: 'web-edge1', uid: 'uid-web-edge1' },
  ]);
});

test.each(['web-admin-edge1', 'web-edge2'])(
  'a pod %s is not meant by web, which only begins its name',
  async (name) => {
    await expect(meant([name], ['web'])).rejects.toMatchObject({ name: 'UserError', message: 'no pod "web"' });
  },
);

test('flags choose all pods, or those with labels, in a namespace', async () => {
  const all = [
    { namespace: 'default', name: 'web-edge1', uid: 'uid-web-edge1' },
    { namespace: 'default', name: 'db-edge1', uid: 'uid-db-edge1' },
  ];
  const names = ['web-edge1', 'db-edge1'];
  expect(await meant(names, [], { all: true })).toEqual(all);
  expect(await meant(names, ['pods'], { all: true, namespace: 'default' })).toEqual(all);
  expect(await meant(names, [], { all: true, namespace: 'other' })).toEqual([]);
  expect(await meant(names, [], { selector: 'app=web' })).toEqual([]);
  expect(await meant(names, [], { selector: 'app!=web' })).toEqual(all);
  expect(await meant(names, ['pod', 'web'])).toEqual(all.slice(0, 1));
});

test('a workload means all its pods', async () => {
  const rootDir = await temporaryFolder();
  const pods = ['web-edge1', 'web-1-edge1', 'api-edge1'].map((name) => makeEntry(name));
  const workloads = [{ kind: 'Deployment', namespace: 'default', name: 'web', pods: ['web-edge1', 'web-1-edge1'] }];
  await startFakeAgent(rootDir, { '/v1/snapshot': { nodeName: 'edge1', pods, workloads, sources: [] } });
  const both = [
    { namespace: 'default', name: 'web-edge1', uid: 'uid-web-edge1' },
    { namespace: 'default', name: 'web-1-edge1', uid: 'uid-web-1-edge1' },
  ];
  const meantBy = (...words: string[]): unknown => podsOfAgent(rootDir, words, {}, new PassThrough());
  expect(await meantBy('deploy/web')).toEqual(both);
  expect(await meantBy('deployment', 'web')).toEqual(both);
  expect(await meantBy('web')).toEqual(both.slice(0, 1));
  await expect(meantBy('sts/db')).rejects.toMatchObject({ message: 'statefulsets.apps "db" not found' });
  // A pod of another workload is not meant by the same word.
  for (const [word, what] of [
    ['deploy/web-1', 'deployments.apps "web-1"'],
    ['sts/web', 'statefulsets.apps "web"'],
    ['deploy/web-1-edge1', 'deployments.apps "web-1-edge1"'],
  ] as const) {
    await expect(meantBy(word)).rejects.toMatchObject({ message: `${what} not found` });
  }
});

test.each<[references: string[], choice: PodSelection, message: string]>([
  [[], {}, 'name pods, or use --all or -l'],
  [['web'], { all: true }, 'name pods, or use --all or -l, not both'],
  [['web'], { selector: 'app=web' }, 'name pods, or use --all or -l, not both'],
])('%j with %j choose nothing', async (references, choice, message) => {
  await expect(meant(['web-edge1'], references, choice)).rejects.toMatchObject({ name: 'UserError', message });
});

test('a name near to that of a pod is suggested', async () => {
  await expect(meant(['web-edge1'], ['wep-edge1'])).rejects.toMatchObject({
    message: 'no pod "wep-edge1"',
    hint: 'Did you mean web-edge1?',
  });
});

test('without an agent the error names the root-dir', async () => {
  const rootDir = await temporaryFolder();
  await expect(podsOfAgent(rootDir, ['web'], {}, new PassThrough())).rejects.toMatchObject(noAgentOn(rootDir));
});

test('an unknown pod may be that of a manifest with errors, which is named', async () => {
  const problems = [{ origin: '/m/web.yaml', severity: 'error', message: 'Unexpected text' }];
  await expect(meant(['db-edge1'], ['web'], {}, [{ problems }])).rejects.toMatchObject({
    message: 'no pod "web"',
    hint: 'Manifests with errors declare no pods: /m/web.yaml. kubelet-ts ps shows the errors.',
  });
});

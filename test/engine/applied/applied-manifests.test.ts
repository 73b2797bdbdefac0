import { setMaxListeners } from 'node:events';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { AppliedManifests } from '../../../src/engine/applied/applied-manifests.ts';
import { appliedFileName, appliedObject, resolveKind } from '../../../src/engine/applied/applied-object.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const pod = (name: string, image = 'app:1'): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: { name: ${name} }\nspec: { containers: [{ name: main, image: "${image}" }] }\n`;
const settings = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: settings }\ndata: { a: "1" }\n';
const web = appliedObject('Pod', 'default', 'web');

async function opened(declared: Record<string, string> = {}) {
  const rootDir = await temporaryFolder();
  const applied = new AppliedManifests({ rootDir, nodeName: 'edge1', clock: systemClock, logger: silentLogger });
  const declarerOf = (key: string): string | undefined => declared[key];
  const folder = join(rootDir, 'applied');
  return {
    rootDir,
    applied,
    folder,
    apply: (text: string, options: { dryRun?: boolean; namespace?: string } = {}) =>
      applied.apply(Buffer.from(text), { declarerOf, ...options }),
    remove: (object = web, dryRun = false) => applied.delete(object, { declarerOf, dryRun }),
    files: async () => (await readdir(folder)).sort(),
  };
}

test('an object is created, unchanged whatever its comments, and configured', async () => {
  const { apply, files } = await opened();
  expect(await apply(pod('web'))).toEqual([{ ...web, result: 'created' }]);
  expect(await apply(`# as before\n${pod('web')}`)).toEqual([{ ...web, result: 'unchanged' }]);
  expect(await apply(pod('web', 'app:2'))).toEqual([{ ...web, result: 'configured' }]);
  expect(await files()).toEqual(['pod.default.web.json']);
});

test('requests that come at once have their turns in order, without a clock, and one whose client left is dropped', async () => {
  const rootDir = await temporaryFolder();
  const clock = new FakeClock();
  const applied = new AppliedManifests({ rootDir, nodeName: 'edge1', clock, logger: silentLogger });
  const declarerOf = (): undefined => undefined;
  const [gone, done]: [AbortController, string[]] = [new AbortController(), []];
  setMaxListeners(0, gone.signal);
  const requests = Array.from({ length: 50 }, async (_, index) => {
    const signal = index % 2 === 1 ? gone.signal : undefined;
    await applied.apply(Buffer.from(pod(`web${index}`)), { declarerOf, signal });
    done.push(`web${index}`);
  });
  gone.abort(new Error('the client has left'));
  const results = await Promise.allSettled(requests);
  const kept = Array.from({ length: 50 }, (_, index) => index).filter((index) => index % 2 === 0);
  expect(results.map(({ status }) => status === 'fulfilled')).toEqual(results.map((_, index) => kept.includes(index)));
  expect(done).toEqual(kept.map((index) => `web${index}`));
  expect((await applied.list()).map(({ name }) => name).sort()).toEqual([...done].sort());
  expect(clock.pending).toBe(0);
});

test('folder and files belong to root alone', async () => {
  const { apply, folder } = await opened();
  await apply(pod('web'));
  const modes = await Promise.all([folder, join(folder, 'pod.default.web.json')].map((path) => stat(path)));
  expect(modes.map(({ mode }) => (mode & 0o777).toString(8))).toEqual(['700', '600']);
});

test('each object of documents and lists has its file, what pods need first', async () => {
  const { apply, files } = await opened();
  const list = `apiVersion: v1\nkind: List\nitems:\n- ${JSON.stringify({ apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: 'safe' }, handler: 'runsc' })}\n`;
  const results = await apply(`${pod('web')}---\n${settings}---\n${list}`);
  expect(results.map(({ kind, namespace, name }) => [kind, namespace, name])).toEqual([
    ['ConfigMap', 'default', 'settings'],
    ['RuntimeClass', '', 'safe'],
    ['Pod', 'default', 'web'],
  ]);
  expect(await files()).toEqual(['configmap.default.settings.json', 'pod.default.web.json', 'runtimeclass..safe.json']);
});

test('the list has each object with its file and a hash that a change changes', async () => {
  const { apply, applied, folder } = await opened();
  expect(await applied.list()).toEqual([]);
  await apply(`${pod('web')}---\n${settings}`, { namespace: 'shop' });
  await writeFile(join(folder, 'pod.shop.cut.json'), '{"kind":"Pod"');
  await writeFile(join(folder, 'pod.shop.unnamed.json'), '{"kind":"Pod","metadata":{}}');
  await writeFile(join(folder, 'node.shop.other.json'), '{"kind":"Node","metadata":{"name":"other"}}');
  const before = await applied.list();
  const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/) as string;
  const modifiedAt = expect.any(Number) as number;
  const file = (name: string): string => join(folder, name);
  const of = { namespace: 'shop', modifiedAt, sha256 };
  expect(before).toEqual([
    { ...of, kind: 'ConfigMap', name: 'settings', file: file('configmap.shop.settings.json') },
    { ...of, kind: 'Pod', name: 'web', file: file('pod.shop.web.json') },
  ]);
  await apply(pod('web', 'app:2'), { namespace: 'shop' });
  const after = await applied.list();
  expect(after.map((object, index) => object.sha256 === before[index]?.sha256)).toEqual([true, false]);
});

test('a namespace is for objects that name none', async () => {
  const { apply, folder, files } = await opened();
  await apply(pod('web'), { namespace: 'shop' });
  expect(await files()).toEqual(['pod.shop.web.json']);
  const kept = JSON.parse(await readFile(join(folder, 'pod.shop.web.json'), 'utf8')) as { metadata: unknown };
  expect(kept.metadata).toEqual({ name: 'web', namespace: 'shop' });
});

test('numbers and texts are kept as they are written', async () => {
  const { apply, folder } = await opened();
  await apply('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"1e3","b":"\\u2028"}}');
  const text = await readFile(join(folder, 'configmap.default.c.json'), 'utf8');
  expect(JSON.parse(text)).toMatchObject({ data: { a: '1e3', b: '\u2028' } });
});

describe('an immutable object', () => {
  const object = (kind: string, rest: string): string =>
    `apiVersion: v1\nkind: ${kind}\nmetadata: { name: settings }\n${rest}`;
  const refusal = (text: string) => ({
    kind: 'conflict',
    message: `${text}: field is immutable when \`immutable\` is set`,
    hint: 'Delete the object first, or give the new one another name.',
  });

  test.each([
    ['ConfigMap', 'data: { a: "2" }\nimmutable: true', 'configmap/settings is not applied: data'],
    [
      'ConfigMap',
      'data: { a: "1" }\nbinaryData: { b: eA== }\nimmutable: true',
      'configmap/settings is not applied: binaryData',
    ],
    ['ConfigMap', 'data: { a: "1" }', 'configmap/settings is not applied: immutable'],
    ['Secret', 'stringData: { a: "2" }\nimmutable: true', 'secret/settings is not applied: data'],
    ['Secret', 'stringData: { a: "1" }\ntype: other\nimmutable: true', 'secret/settings is not applied: type'],
  ])('%s is not changed by %j, nor is anything next to it', async (kind, changed, message) => {
    const { apply, folder, files } = await opened();
    const data = kind === 'Secret' ? 'stringData' : 'data';
    const first = object(kind, `${data}: { a: "1" }\nimmutable: true`);
    await apply(first);
    const [name = ''] = await files();
    const before = await readFile(join(folder, name), 'utf8');
    const both = `${pod('web')}---\n${object(kind, changed)}`;
    await expect(apply(both, { dryRun: true })).rejects.toMatchObject(refusal(message));
    await expect(apply(both)).rejects.toMatchObject(refusal(message));
    expect(await files()).toEqual([name]);
    expect(await readFile(join(folder, name), 'utf8')).toBe(before);
  });

  test('keeps its content with other labels, and is another one after a deletion', async () => {
    const { apply, remove } = await opened();
    const text = object('ConfigMap', 'data: { a: "1" }\nimmutable: true');
    const settingsObject = appliedObject('ConfigMap', 'default', 'settings');
    await apply(text);
    const labelled = text.replace('{ name: settings }', '{ name: settings, labels: { a: b } }');
    expect(await apply(labelled)).toEqual([{ ...settingsObject, result: 'configured' }]);
    await remove(settingsObject);
    const changed = text.replace('"1"', '"2"');
    expect(await apply(changed)).toEqual([{ ...settingsObject, result: 'created' }]);
  });

  test('is what any other one may become', async () => {
    const { apply } = await opened();
    await apply(settings);
    const [result] = await apply(`${settings.replace('"1"', '"2"')}immutable: true\n`);
    expect(result?.result).toBe('configured');
  });
});

test('one broken document keeps all of them from being applied', async () => {
  const { apply, rootDir } = await opened();
  await expect(apply(`${pod('web')}---\n${settings}---\n${pod('Bad Name')}`)).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringContaining('<request>:13:19: error: metadata.name') as string,
  });
  expect(await readdir(rootDir)).toEqual([]);
});

test('a dry run reports and changes nothing', async () => {
  const { apply, remove, files } = await opened();
  expect(await apply(pod('web'), { dryRun: true })).toEqual([{ ...web, result: 'created' }]);
  expect(await files()).toEqual([]);
  await apply(pod('web'));
  expect(await remove(web, true)).toEqual({ ...web, result: 'deleted' });
  expect(await files()).toEqual(['pod.default.web.json']);
});

test('what a file declares is not overwritten, and the answer names the file', async () => {
  const { apply, remove } = await opened({ 'Pod/default/web-edge1': '/etc/manifests/web.yaml' });
  await expect(apply(pod('web'))).rejects.toMatchObject({
    kind: 'conflict',
    message: 'pod/web is not applied: /etc/manifests/web.yaml declares Pod default/web-edge1 already',
    hint: 'Change it there, or remove it there first.',
  });
  await expect(remove()).rejects.toMatchObject({
    kind: 'conflict',
    message: 'pod "web" is declared by /etc/manifests/web.yaml',
    hint: 'Remove it there.',
  });
});

test.each([
  ['Deployment', 'web-edge1'],
  ['StatefulSet', 'web-0-edge1'],
  ['Job', 'web-edge1'],
] as const)('the deletion of a %s that a file declares names the file', async (kind, podName) => {
  const { remove } = await opened({ [`Pod/default/${podName}`]: '/etc/manifests/web.yaml' });
  await expect(remove(appliedObject(kind, 'default', 'web'))).rejects.toMatchObject({
    kind: 'conflict',
    hint: 'Remove it there.',
  });
});

test('a pod is deleted by both of its names, and once', async () => {
  const { apply, remove, files } = await opened();
  for (const name of ['web', 'web-edge1']) {
    await apply(pod('web'));
    expect(await remove(appliedObject('Pod', 'default', name))).toEqual({ ...web, result: 'deleted' });
    expect(await files()).toEqual([]);
  }
  await expect(remove()).rejects.toMatchObject({
    kind: 'missing',
    message: 'pods "web" not found',
    hint: 'No applied object has this name in namespace default.',
  });
});

test('the pod of a workload is deleted with the workload', async () => {
  const declared: Record<string, string> = {};
  const { remove, folder } = await opened(declared);
  declared['Pod/default/web-edge1'] = join(folder, 'deployment.default.web.json');
  await expect(remove()).rejects.toMatchObject({
    kind: 'conflict',
    message: 'pod "web" belongs to deployment/web',
    hint: 'kubelet-ts delete deployment/web deletes it.',
  });
});

test('the next start applies a change that a crash cut short', async () => {
  const { applied, rootDir, folder, files, apply } = await opened();
  await apply(pod('db'));
  const journal = join(rootDir, 'state', 'applied-change.json');
  await writeFile(
    journal,
    JSON.stringify([
      ['pod.default.web.json', '{}'],
      ['pod.default.db.json', null],
    ]),
  );
  await writeFile(join(folder, '..pod.default.old.json'), '{');
  await applied.open();
  expect(await files()).toEqual(['pod.default.web.json']);
  expect(await readdir(join(rootDir, 'state'))).toEqual(['applied.lock']);
});

test('a journal that is none changes nothing, and is set aside', async () => {
  const { applied, rootDir, files } = await opened();
  await mkdir(join(rootDir, 'state'));
  await writeFile(join(rootDir, 'state', 'applied-change.json'), '[["../../etc/passwd.json","x"]]');
  await applied.open();
  expect(await files()).toEqual([]);
  expect((await readdir(join(rootDir, 'state'))).sort()).toEqual(['applied-change.json.malformed', 'applied.lock']);
});

test.each([
  ['web.v1', 'configmap.default.web.v1.json'],
  ['../../../etc/passwd', 'configmap.default._56bfa7338a2dfd1d7159f20c38946070.json'],
  ['x'.repeat(260), 'configmap.default._ca19811c67a40acd0fe35832864ca309.json'],
  ['Web', 'configmap.default._2975104784a401e3880e2215550e9490.json'],
])('an object named %s is in the file %s', (name, file) => {
  expect(appliedFileName(appliedObject('ConfigMap', 'default', name))).toBe(file);
});

test.each([
  ['pod', 'Pod'],
  ['pods', 'Pod'],
  ['PO', 'Pod'],
  ['deployment.apps', 'Deployment'],
  ['sts', 'StatefulSet'],
  ['priorityclasses', 'PriorityClass'],
  ['RuntimeClass', 'RuntimeClass'],
  ['cm', 'ConfigMap'],
  ['web', undefined],
  ['constructor', undefined],
])('the kind %s is %s', (word, kind) => {
  expect(resolveKind(word)).toBe(kind);
});

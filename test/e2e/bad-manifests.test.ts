import { type FileHandle, mkdir, open, rename, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EngineSnapshot } from '../../src/engine/view/snapshot.ts';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

let agent: Agent;
/** Held open by somebody who is not done with it. */
let half: FileHandle;

const pod = (name: string): object => makePod(name, { containers: [shell('app', serve)] });
const names = ['web', 'db', 'edited'];
const good = Object.fromEntries(names.map((name) => [`${name}.json`, pod(name)]));
const halfText = JSON.stringify(pod('half'));

const inFolder = (name: string): string => join(agent.manifestsFolder, name);
const aside = (name: string): string => join(agent.rootDir, name);

const messages = ({ sources }: EngineSnapshot): string[] =>
  sources.flatMap(({ problems }) => problems.map(({ message }) => message));
const untilSaid = (text: string): Promise<EngineSnapshot> =>
  agent.until((snapshot) => messages(snapshot).some((message) => message.includes(text)));

/** The containers that run now: another one in the place of one of them would have another id. */
const containers = async (): Promise<string[]> =>
  (await Promise.all(names.map((name) => agent.runningContainer(name)))).map(({ id }) => id);

/** What `ps` says beside the pods; ages are left out. */
async function saidByPs(...flags: string[]): Promise<string[]> {
  const { stderr } = await agent.cli(['ps', ...flags]);
  const lines = stderr.replaceAll(`${agent.manifestsFolder}/`, '').replaceAll(/read \S+ ago/g, 'read AGE ago');
  return lines.split('\n').filter(Boolean).sort();
}

beforeAll(async () => {
  agent = await startAgent({ manifests: good, flags: ['--file-check-frequency', '200ms'] });
  for (const name of names) await agent.untilReady(name);
});
afterAll(async () => {
  await half.close();
  await agent.cleanUp();
});

test('a folder of bad files takes no pod away, and ps says what is wrong, but does not repeat warnings', async () => {
  const before = await containers();
  for (const name of ['web.json~', 'web.json.bak', '.web.json.swp']) await writeFile(inFolder(name), '');
  await mkdir(inFolder('more'));
  await mkdir(inFolder('folder.yaml'));
  await execa('mkfifo', [inFolder('pipe.yaml')]);
  await symlink('nowhere', inFolder('link.yaml'));
  await writeFile(inFolder('huge.yaml'), '');
  await truncate(inFolder('huge.yaml'), 2 ** 30);
  await agent.write('zzz.json', pod('web'));
  await agent.write('edited.json', JSON.stringify(pod('edited')).replace('"image"', '"imagee"'));
  await untilSaid('its last good revision stays in use');
  await untilSaid('is declared by');
  const said = [
    'edited.json: error: its last good revision stays in use, read AGE ago',
    'edited.json:1:137: error: spec.containers[0].image: Required value: must be set (Such as "image: registry.example/app:1.2".)',
    'folder.yaml: error: is not a regular file (Only regular files and links to them are read as manifests. For a pipe, give - and stdin.)',
    'huge.yaml: error: is too large (1024 MiB) (A manifest may have 10 MiB.)',
    'link.yaml: error: is a broken link (Restore the target of the link, or remove the link.)',
    'pipe.yaml: error: is not a regular file (Only regular files and links to them are read as manifests. For a pipe, give - and stdin.)',
    'zzz.json: error: metadata.name: Pod default/web-edge1 is declared by web.json already (Give one of them another name.)',
  ];
  expect((await saidByPs('-o', 'wide')).filter((line) => !line.startsWith('node edge1: '))).toEqual(said);
  const summary = [
    '1 more file: 1 error',
    'edited.json: 2 errors',
    ...['folder.yaml', 'huge.yaml'].map((file) => `${file}: 1 error`),
    'kubelet-ts ps -o wide prints each error; kubelet-ts validate FILE shows its lines',
    ...['link.yaml', 'pipe.yaml'].map((file) => `${file}: 1 error`),
  ];
  for (const flags of [[], ['-o', 'json']]) expect(await saidByPs(...flags)).toEqual(summary);
  for (const format of ['name', 'jsonpath={.kind}', 'custom-columns=K:.kind'])
    expect(await saidByPs('-o', format)).toEqual([]);
  expect((await agent.cli(['ps', '-o', 'name'])).stdout).toBe('pod/db-edge1\npod/edited-edge1\npod/web-edge1\n');
  expect(await containers()).toEqual(before);
  half = await open(inFolder('half.json'), 'w');
  await half.write(halfText.slice(0, 60));
  await untilSaid('A string does not end');
});

test('validate says of every file in the folder what is wrong with it', async () => {
  const { code, stdout } = await agent.cli([
    'validate',
    '-o',
    'json',
    '--hostname-override',
    'edge1',
    agent.manifestsFolder,
  ]);
  const report = JSON.parse(stdout) as { pods: { name: string }[]; problems: { origin: string }[] };
  const files = new Set(report.problems.map(({ origin }) => origin.replace(`${agent.manifestsFolder}/`, '')));
  expect({ code, pods: report.pods.map(({ name }) => name), files: [...files].sort() }).toEqual({
    code: 2,
    pods: ['db-edge1', 'web-edge1'],
    files: [
      ...['.web.json.swp', 'edited.json', 'folder.yaml', 'half.json', 'huge.yaml', 'link.yaml', 'more', 'pipe.yaml'],
      ...['web.json.bak', 'web.json~', 'zzz.json'],
    ],
  });
});

test('a file that was half-written runs as soon as it is whole', async () => {
  await half.write(halfText.slice(60));
  await half.close();
  await agent.untilReady('half');
});

test('kill -9 and a start next to the bad files leave every container as it is', async () => {
  const before = { containers: await containers(), said: await saidByPs('-o', 'wide') };
  await agent.kill9();
  await agent.start();
  for (const name of names) await agent.untilReady(name);
  await untilSaid('its last good revision stays in use');
  expect({ containers: await containers(), said: await saidByPs('-o', 'wide') }).toEqual(before);
});

test('a start without the folder stops nothing, and says how old is what runs; the folder may come late', async () => {
  const before = { containers: await containers(), said: await saidByPs('-o', 'wide') };
  await agent.kill9();
  await rename(agent.manifestsFolder, aside('elsewhere'));
  await agent.start();
  for (const name of names) await agent.untilReady(name);
  expect(await saidByPs()).toEqual([
    `${agent.manifestsFolder}: error: path does not exist; its last good manifests stay in use, read AGE ago ` +
      '(Create the file or folder; it is read as soon as it exists.)',
    'zzz.json: error: metadata.name: Pod default/web-edge1 is declared by web.json already (Give one of them another name.)',
  ]);
  expect(await containers()).toEqual(before.containers);
  await rename(aside('elsewhere'), agent.manifestsFolder);
  await untilSaid('its last good revision stays in use');
  expect({ containers: await containers(), said: await saidByPs('-o', 'wide') }).toEqual(before);
});

/** At once, also while the agent happens to read there. */
const unmount = (folder: string): Promise<unknown> => execa('umount', ['-l', folder]);

test('a folder that is unmounted takes no pod away, nor does a start before it is mounted again', async () => {
  const before = await containers();
  const notMounted = [
    `${agent.manifestsFolder}: error: nothing is mounted on ${agent.manifestsFolder}; its last good manifests stay in use, ` +
      'read AGE ago (Mount it. To drop the pods declared there, stop the agent and remove <root-dir>/manifests-last-good.)',
  ];
  const stick = aside('stick');
  await mkdir(stick);
  for (const [name, manifest] of Object.entries({ ...good, 'late.json': pod('late') })) {
    await writeFile(join(stick, name), JSON.stringify(manifest));
  }
  try {
    await execa('mount', ['--bind', stick, agent.manifestsFolder]);
    await agent.untilReady('late');
    await agent.until((snapshot) => messages(snapshot).length === 0);
    await unmount(agent.manifestsFolder);
    await untilSaid('nothing is mounted');
    expect(await saidByPs()).toEqual(notMounted);
    await agent.kill9();
    await agent.start();
    for (const name of [...names, 'late']) await agent.untilReady(name);
    expect(await saidByPs()).toEqual(notMounted);
    expect(await containers()).toEqual(before);
    await execa('mount', ['--bind', stick, agent.manifestsFolder]);
    await agent.until((snapshot) => messages(snapshot).length === 0);
    expect(await containers()).toEqual(before);
    // It is watched as any other: what goes from it goes.
    await agent.remove('late.json');
    await agent.until(({ pods }) => pods.every((entry) => !entry.pod.metadata.name.startsWith('late')));
    expect(await containers()).toEqual(before);
  } finally {
    await execa('umount', [agent.manifestsFolder], { reject: false });
  }
});

test('a file system of manifests that goes as a whole takes no pod away', async () => {
  const before = await containers();
  const stick = aside('memory');
  await mkdir(stick);
  await execa('mount', ['-t', 'tmpfs', '-o', 'mode=755', 'manifests', stick]);
  try {
    for (const [name, manifest] of Object.entries(good)) await writeFile(join(stick, name), JSON.stringify(manifest));
    // Not moved, which the kernel refuses where systemd has made the mount above a shared one.
    await execa('mount', ['--bind', stick, agent.manifestsFolder]);
    await agent.until((snapshot) => messages(snapshot).length === 0);
    await unmount(agent.manifestsFolder);
    await untilSaid('nothing is mounted');
    expect(await containers()).toEqual(before);
  } finally {
    for (const folder of [agent.manifestsFolder, stick]) await execa('umount', [folder], { reject: false });
  }
});

import { isDeepStrictEqual } from 'node:util';
import { appendFileSync, chmodSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { FileSource } from '../../../../src/engine/config/file/file-source.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { silentLogger } from '../../../fakes/silent-logger.ts';
import { whileTimePasses } from '../while-time-passes.ts';
import { podManifest as manifest } from './manifest-folder.ts';
import { type Handed, SourceRecorder } from '../source-recorder.ts';

/** No rescan finds what the watch does not tell. */
const neverMs = 1e9;

let folder: string;
let clock: FakeClock;

beforeEach(async () => {
  folder = await temporaryFolder();
  clock = new FakeClock();
});

const put = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);

function sourceOf(...paths: string[]): FileSource {
  return new FileSource({
    paths: paths.length === 0 ? [folder] : paths,
    nodeName: 'edge1',
    fileCheckFrequencyMs: neverMs,
    clock,
    logger: silentLogger,
  });
}

/** Names and images of the pods, and problems as `file: severity message`. */
async function read(source: FileSource): Promise<{ pods: string[]; problems: string[] }> {
  const { pods, problems } = await whileTimePasses(clock, source.read());
  return {
    pods: pods.map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0]?.image ?? ''}`),
    problems: problems.map(
      ({ origin, severity, message }) => `${origin.replace(`${folder}/`, '')}: ${severity} ${message}`,
    ),
  };
}

/** The pods of the last list. */
const lastPods = ({ handed }: SourceRecorder): string[] | undefined =>
  handed.findLast(({ pods }) => pods !== undefined)?.pods;

describe('what settles', () => {
  test('has what was on disk at the time of the call, even before the watch reported it', async () => {
    await put('a.yaml', manifest('one'));
    const source = sourceOf();
    const recorder = new SourceRecorder(source);
    await whileTimePasses(clock, source.settle());
    expect(lastPods(recorder)).toEqual(['one-edge1']);
    for (const round of ['two', 'three', 'four']) {
      await put('a.yaml', manifest(round));
      await whileTimePasses(clock, source.settle());
      expect(lastPods(recorder)).toEqual([`${round}-edge1`]);
    }
    await rm(join(folder, 'a.yaml'));
    await whileTimePasses(clock, source.settle());
    expect(lastPods(recorder)).toEqual([]);
    await recorder.stop();
  });
});

describe('one look', () => {
  test('at a folder takes the pod of every manifest, by name of the file', async () => {
    await put('b.yml', manifest('two'));
    await put('a.yaml', manifest('one'));
    await put(
      'c.json',
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'three' },
        spec: { containers: [{ name: 'c', image: 'i' }] },
      }),
    );
    expect(await read(sourceOf())).toEqual({
      pods: ['one-edge1 app:1', 'two-edge1 app:1', 'three-edge1 i'],
      problems: [],
    });
  });

  test('at a folder names what it leaves out, and does not go into folders', async () => {
    await put('a.yaml', manifest('one'));
    for (const name of ['.hidden.yaml', 'a.yaml~', '#a.yaml#', 'a.yaml.bak', 'notes']) await put(name, manifest('x'));
    await mkdir(join(folder, 'deeper'));
    await put('deeper/b.yaml', manifest('deeper'));
    expect(await read(sourceOf())).toEqual({
      pods: ['one-edge1 app:1'],
      problems: [
        '#a.yaml#: warning ignored: it looks like an editor backup',
        '.hidden.yaml: warning ignored: its name begins with a dot',
        'a.yaml.bak: warning ignored: its name does not end in .yaml, .yml, .json',
        'a.yaml~: warning ignored: it looks like an editor backup',
        'deeper: warning ignored: it is a folder, and folders in folders are not read',
        'notes: warning ignored: its name does not end in .yaml, .yml, .json',
      ],
    });
  });

  test('at a file takes that file, whatever it is called', async () => {
    await put('pod', manifest('one'));
    await put('other.yaml', manifest('two'));
    expect(await read(sourceOf(join(folder, 'pod')))).toEqual({ pods: ['one-edge1 app:1'], problems: [] });
  });

  test('follows links', async () => {
    await mkdir(join(folder, 'store'));
    await put('store/real', manifest('one'));
    await mkdir(join(folder, 'links'));
    await symlink(join(folder, 'store', 'real'), join(folder, 'links', 'a.yaml'));
    await symlink(join(folder, 'links'), join(folder, 'current'));
    const source = sourceOf(`${join(folder, 'current')}/`);
    expect(await read(source)).toEqual({ pods: ['one-edge1 app:1'], problems: [] });
    await put('store/real', manifest('one', 'app:2'));
    expect(await read(source)).toEqual({ pods: ['one-edge1 app:2'], problems: [] });
  });

  test('at several places takes a file that is in two of them once', async () => {
    await put('a.yaml', manifest('one'));
    expect(await read(sourceOf(folder, join(folder, 'a.yaml')))).toEqual({ pods: ['one-edge1 app:1'], problems: [] });
  });

  test('says that a path does not exist, and takes its pods along', async () => {
    await mkdir(join(folder, 'manifests'));
    await put('manifests/a.yaml', manifest('one'));
    const source = sourceOf(join(folder, 'manifests'));
    await read(source);
    await rm(join(folder, 'manifests'), { recursive: true });
    expect(await read(source)).toEqual({ pods: [], problems: ['manifests: error path does not exist'] });
  });
});

describe('from one look to the next', () => {
  test('pods come, change and go with their files', async () => {
    const source = sourceOf();
    expect(await read(source)).toEqual({ pods: [], problems: [] });
    await put('a.yaml', manifest('one'));
    await put('b.yaml', manifest('two'));
    expect(await read(source)).toEqual({ pods: ['one-edge1 app:1', 'two-edge1 app:1'], problems: [] });
    await put('a.yaml', manifest('one', 'app:2.0'));
    expect(await read(source)).toEqual({ pods: ['one-edge1 app:2.0', 'two-edge1 app:1'], problems: [] });
    await rm(join(folder, 'a.yaml'));
    expect(await read(source)).toEqual({ pods: ['two-edge1 app:1'], problems: [] });
  });

  test('a file that is replaced by a rename is read again, even with size and time of the one before', async () => {
    await put('a.yaml', manifest('one', 'app:1'));
    const time = new Date('2024-01-01');
    await utimes(join(folder, 'a.yaml'), time, time);
    const source = sourceOf();
    await read(source);
    await put('a.yaml.new', manifest('one', 'app:2'));
    await utimes(join(folder, 'a.yaml.new'), time, time);
    await rename(join(folder, 'a.yaml.new'), join(folder, 'a.yaml'));
    expect(await read(source)).toEqual({ pods: ['one-edge1 app:2'], problems: [] });
  });

  test('a file that does not change is not parsed again', async () => {
    await put('a.yaml', manifest('one'));
    const source = sourceOf();
    const first = await source.read();
    const second = await source.read();
    expect(second.pods[0]).toBe(first.pods[0]);
  });

  test('a file that broke keeps its last good pod until it is right again', async () => {
    await put('a.yaml', manifest('one'));
    const source = sourceOf();
    await read(source);
    await put('a.yaml', manifest('one').replace('spec:', 'spec: 7 #'));
    const broken = await read(source);
    expect(broken.pods).toEqual(['one-edge1 app:1']);
    expect(broken.problems.at(-1)).toBe('a.yaml: error its last good revision stays in use');
    expect(broken.problems.some((problem) => problem.startsWith('a.yaml: error '))).toBe(true);
    await put('a.yaml', manifest('one', 'app:3'));
    expect(await read(source)).toEqual({ pods: ['one-edge1 app:3'], problems: [] });
  });

  test.each([
    'apiVersion: v1\nkind: List\nitems: null\n',
    'apiVersion: v1\nkind: PodList\nitems:\n',
    'apiVersion: v1\nkind: List\n',
    '{}',
    '',
    '<html></html>',
  ])('only "items: []" stops the pod of a file, not %j', async (text) => {
    await put('a.yaml', manifest('one'));
    const source = sourceOf();
    await read(source);
    await put('a.yaml', text);
    expect((await read(source)).pods).toEqual(['one-edge1 app:1']);
    await put('a.yaml', 'apiVersion: v1\nkind: List\nitems: []\n');
    expect(await read(source)).toEqual({ pods: [], problems: [] });
  });

  test('a broken file that is then removed removes its pod', async () => {
    await put('a.yaml', manifest('one'));
    const source = sourceOf();
    await read(source);
    await put('a.yaml', 'no pod');
    await read(source);
    await rm(join(folder, 'a.yaml'));
    expect(await read(source)).toEqual({ pods: [], problems: [] });
  });

  test('a CronJob may have the name of a Deployment in another file, but not that of another CronJob', async () => {
    const template = '{metadata: {labels: {app: a}}, spec: {containers: [{name: app, image: "app:1"}]}}';
    const once = template.replace('spec: {', 'spec: {restartPolicy: Never, ');
    const cron = `apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: cloud}\nspec: {schedule: "@daily", jobTemplate: {spec: {template: ${once}}}}\n`;
    const deployment = `apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: cloud}\nspec: {selector: {matchLabels: {app: a}}, template: ${template}}\n`;
    await put('a.yaml', cron);
    await put('b.yaml', deployment);
    const source = sourceOf();
    expect(await read(source)).toEqual({ pods: ['cloud-edge1 app:1'], problems: [] });
    await put('c.yaml', cron);
    expect((await read(source)).problems).toEqual([
      `c.yaml: error CronJob default/cloud is declared by ${join(folder, 'a.yaml')} already`,
    ]);
  });

  test('a workload that another file declares first has no pods, and its names are free', async () => {
    const workload = (replicas: number, image: string): string =>
      `apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: ${replicas}, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: app, image: "${image}"}]}}}\n`;
    await put('b.yaml', workload(1, 'first:1'));
    const source = sourceOf();
    await read(source);
    await put('a.yaml', workload(3, 'second:1'));
    await put('c.yaml', manifest('web-1', 'third:1'));
    const problems = [`a.yaml: error Deployment default/web is declared by ${join(folder, 'b.yaml')} already`];
    expect(await read(source)).toEqual({ pods: ['web-edge1 first:1', 'web-1-edge1 third:1'], problems });
    await rm(join(folder, 'c.yaml'));
    await rm(join(folder, 'b.yaml'));
    const three = ['web-edge1 second:1', 'web-1-edge1 second:1', 'web-2-edge1 second:1'];
    expect(await read(source)).toEqual({ pods: three, problems: [] });
  });

  test('the file that was seen first owns a pod that two files declare', async () => {
    await put('b.yaml', manifest('one', 'first:1'));
    const source = sourceOf();
    await read(source);
    await put('a.yaml', manifest('one', 'second:1'));
    expect(await read(source)).toEqual({
      pods: ['one-edge1 first:1'],
      problems: [`a.yaml: error Pod default/one-edge1 is declared by ${join(folder, 'b.yaml')} already`],
    });
    await rm(join(folder, 'b.yaml'));
    expect(await read(source)).toEqual({ pods: ['one-edge1 second:1'], problems: [] });
  });

  test('a link whose target went keeps its last good pod until the link goes too', async () => {
    await put('real', manifest('one'));
    await symlink(join(folder, 'real'), join(folder, 'a.yaml'));
    const source = sourceOf();
    await read(source);
    await rm(join(folder, 'real'));
    expect(await read(source)).toEqual({
      pods: ['one-edge1 app:1'],
      problems: ['a.yaml: error is a broken link', 'a.yaml: error its last good revision stays in use'],
    });
    await rm(join(folder, 'a.yaml'));
    expect(await read(source)).toEqual({ pods: [], problems: [] });
  });
});

describe('what is not a readable file', () => {
  test('is named and holds nothing up: a pipe, a socket, a folder, a link to itself', async () => {
    await put('a.yaml', manifest('one'));
    await execa('mkfifo', [join(folder, 'pipe.yaml')]);
    await mkdir(join(folder, 'folder.yaml'));
    await symlink(join(folder, 'loop.yaml'), join(folder, 'loop.yaml'));
    const server = createServer().listen(join(folder, 'socket.yaml'));
    onTestFinished(() => {
      server.close();
    });
    const { pods, problems } = await read(sourceOf());
    expect(pods).toEqual(['one-edge1 app:1']);
    expect(problems).toEqual([
      'folder.yaml: error is not a regular file',
      expect.stringMatching(/^loop\.yaml: error ELOOP/),
      'pipe.yaml: error is not a regular file',
      'socket.yaml: error is not a regular file',
    ]);
  });

  test('is named when it is larger than 10 MiB, and is not read', async () => {
    await put('a.yaml', '');
    await truncate(join(folder, 'a.yaml'), 10 * 1024 * 1024 + 1);
    expect(await read(sourceOf())).toEqual({ pods: [], problems: ['a.yaml: error is too large (11 MiB)'] });
  });

  test('keeps the pod that it declared before', async () => {
    await put('a.yaml', manifest('one'));
    const source = sourceOf();
    await read(source);
    await truncate(join(folder, 'a.yaml'), 10 * 1024 * 1024 + 1);
    expect((await read(source)).pods).toEqual(['one-edge1 app:1']);
  });
});

describe('a running source', () => {
  interface Running {
    /** What it hands over next; time passes. */
    next: () => Promise<Handed>;
    nextThat: (matches: (handed: Handed) => boolean) => Promise<Handed>;
    /** The next time that the pods are these. */
    nextWithPods: (...pods: string[]) => Promise<Handed>;
    recorder: SourceRecorder;
  }

  function run(source: FileSource): Running {
    const recorder = new SourceRecorder(source);
    onTestFinished(() => recorder.stop());
    const nextThat: Running['nextThat'] = (matches) => whileTimePasses(clock, recorder.nextThat(matches));
    return {
      nextThat,
      next: () => nextThat(() => true),
      nextWithPods: (...pods) => nextThat((handed) => isDeepStrictEqual(handed.pods, pods)),
      recorder,
    };
  }

  test('hands over what there is at once, also when that is nothing', async () => {
    expect(await run(sourceOf()).next()).toEqual({ pods: [], problems: [] });
  });

  test('notices a file that appears, changes and disappears', async () => {
    const running = run(sourceOf());
    await running.next();
    await put('a.yaml', manifest('one'));
    await running.nextWithPods('one-edge1');
    await rename(join(folder, 'a.yaml'), join(folder, 'b.yaml'));
    await put('b.yaml', manifest('two'));
    await running.nextWithPods('two-edge1');
    await rm(join(folder, 'b.yaml'));
    expect(await running.nextWithPods()).toEqual({ pods: [], problems: [] });
  });

  test('misses no file that comes while the watcher is starting', async () => {
    const running = run(sourceOf());
    await running.next();
    await put('a.yaml', manifest('one'));
    expect(await running.nextWithPods('one-edge1')).toEqual({ pods: ['one-edge1'], problems: [] });
  });

  test('notices a folder that comes later', async () => {
    const running = run(sourceOf(join(folder, 'manifests')));
    expect(await running.next()).toEqual({ pods: [], problems: ['error path does not exist'] });
    await mkdir(join(folder, 'manifests'));
    await put('manifests/a.yaml', manifest('one'));
    expect(await running.nextWithPods('one-edge1')).toEqual({ pods: ['one-edge1'], problems: [] });
  });

  test('notices a folder that comes later with the one above it', async () => {
    const running = run(sourceOf(join(folder, 'etc', 'manifests')));
    await running.next();
    await mkdir(join(folder, 'etc', 'manifests'), { recursive: true });
    await put('etc/manifests/a.yaml', manifest('one'));
    await running.nextWithPods('one-edge1');
  });

  test('notices a folder that is replaced', async () => {
    await mkdir(join(folder, 'manifests'));
    await put('manifests/a.yaml', manifest('one'));
    await mkdir(join(folder, 'next'));
    await put('next/a.yaml', manifest('two'));
    const running = run(sourceOf(join(folder, 'manifests')));
    await running.nextWithPods('one-edge1');
    await rename(join(folder, 'manifests'), join(folder, 'last'));
    await rename(join(folder, 'next'), join(folder, 'manifests'));
    await running.nextWithPods('two-edge1');
    await put('manifests/b.yaml', manifest('three'));
    await running.nextWithPods('two-edge1', 'three-edge1');
  });

  test('notices a link that is turned to another folder', async () => {
    await mkdir(join(folder, 'v1'));
    await put('v1/a.yaml', manifest('one'));
    await mkdir(join(folder, 'v2'));
    await put('v2/a.yaml', manifest('two'));
    await symlink('v1', join(folder, 'current'));
    const running = run(sourceOf(join(folder, 'current')));
    await running.nextWithPods('one-edge1');
    await symlink('v2', join(folder, 'next'));
    await rename(join(folder, 'next'), join(folder, 'current'));
    await running.nextWithPods('two-edge1');
  });

  test('notices a single file that is replaced by a rename', async () => {
    await put('pod.yaml', manifest('one'));
    const running = run(sourceOf(join(folder, 'pod.yaml')));
    await running.nextWithPods('one-edge1');
    await put('pod.yaml.new', manifest('two'));
    await rename(join(folder, 'pod.yaml.new'), join(folder, 'pod.yaml'));
    await running.nextWithPods('two-edge1');
  });

  test('follows a link that takes the place of a file in the moment in which that is written', async () => {
    await mkdir(join(folder, 'links'));
    await put('links/a.yaml', manifest('one'));
    await put('real', manifest('two'));
    const running = run(sourceOf(join(folder, 'links')));
    await running.next();
    // At once: the write begins a look, and the next one sees the rest together.
    appendFileSync(join(folder, 'links', 'a.yaml'), '# written');
    chmodSync(join(folder, 'links', 'a.yaml'), 0o600);
    rmSync(join(folder, 'links', 'a.yaml'));
    symlinkSync(join(folder, 'real'), join(folder, 'links', 'a.yaml'));
    expect((await running.next()).pods).toEqual(['two-edge1']);
    await put('real', manifest('three'));
    expect((await running.next()).pods).toEqual(['three-edge1']);
  });

  test('notices what happens to files that links lead to, wherever they are', async () => {
    await mkdir(join(folder, 'store'));
    await put('store/real', manifest('one'));
    await mkdir(join(folder, 'links'));
    await symlink(join(folder, 'store', 'real'), join(folder, 'links', 'a.yaml'));
    const running = run(sourceOf(join(folder, 'links')));
    await running.nextWithPods('one-edge1');
    await put('store/next', manifest('two'));
    await rename(join(folder, 'store', 'next'), join(folder, 'store', 'real'));
    await running.nextWithPods('two-edge1');
    await put('other', manifest('three'));
    await symlink(join(folder, 'other'), join(folder, 'links', 'a.new'));
    await rename(join(folder, 'links', 'a.new'), join(folder, 'links', 'a.yaml'));
    await running.nextWithPods('three-edge1');
    await put('next', manifest('four'));
    await rename(join(folder, 'next'), join(folder, 'other'));
    await running.nextWithPods('four-edge1');
  });

  test('notices the swap of a volume that Kubernetes made, and says nothing of how it is made', async () => {
    await mkdir(join(folder, '..v1'));
    await put('..v1/a.yaml', manifest('one'));
    await symlink('..v1', join(folder, '..data'));
    await symlink('..data/a.yaml', join(folder, 'a.yaml'));
    const running = run(sourceOf());
    expect(await running.nextWithPods('one-edge1')).toEqual({ pods: ['one-edge1'], problems: [] });
    await mkdir(join(folder, '..v2'));
    await put('..v2/a.yaml', manifest('two'));
    await symlink('..v2', join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    expect(await running.nextWithPods('two-edge1')).toEqual({ pods: ['two-edge1'], problems: [] });
  });

  test('notices a folder that was removed and made again', async () => {
    await mkdir(join(folder, 'manifests'));
    await put('manifests/a.yaml', manifest('one'));
    const running = run(sourceOf(join(folder, 'manifests')));
    await running.nextWithPods('one-edge1');
    await rm(join(folder, 'manifests'), { recursive: true });
    await running.nextThat(({ problems }) => problems.includes('error path does not exist'));
    await mkdir(join(folder, 'manifests'));
    await put('manifests/b.yaml', manifest('two'));
    await running.nextThat(({ pods }) => pods?.includes('two-edge1') === true);
  });

  test('says when a file that is not read appears and disappears', async () => {
    const running = run(sourceOf());
    await running.next();
    await put('a.yaml.bak', manifest('one'));
    const problems = ['warning ignored: its name does not end in .yaml, .yml, .json'];
    expect(await running.next()).toEqual({ pods: [], problems });
    await rm(join(folder, 'a.yaml.bak'));
    expect(await running.next()).toEqual({ pods: [], problems: [] });
  });

  test('says that a file is not read that is made and written during a check', async () => {
    await put('a.yaml', manifest('one'));
    const running = run(sourceOf());
    await running.next();
    appendFileSync(join(folder, 'a.yaml'), '# written');
    writeFileSync(join(folder, 'a.yaml.bak'), 'written');
    const problems = ['warning ignored: its name does not end in .yaml, .yml, .json'];
    await running.nextThat((handed) => isDeepStrictEqual(handed.problems, problems));
  });

  test('checks everything again after the check period, and hands over no list that is the same', async () => {
    await put('a.yaml', manifest('one'));
    await put('a.yaml.bak', manifest('one'));
    const problems = ['warning ignored: its name does not end in .yaml, .yml, .json'];
    const { next, recorder } = run(sourceOf());
    expect(await next()).toEqual({ pods: ['one-edge1'], problems });
    const rescan = recorder.next();
    await clock.advance(neverMs);
    expect(await rescan).toEqual({ pods: undefined, problems });
  });

  test('stops when its signal is aborted', async () => {
    const running = run(sourceOf());
    await running.next();
    await running.recorder.stop();
    expect(await running.recorder.ended).toEqual(new Error('the test is over'));
  });
});

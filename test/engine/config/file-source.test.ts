import { mkdir, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { FileSource } from '../../../src/engine/config/file-source.ts';
import { LastGoodManifests } from '../../../src/engine/config/last-good-manifests.ts';
import { temporaryFolder } from '../../containerd/temporary-folder.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { SourceRecorder } from './source-recorder.ts';

const manifest = (name: string, image = 'app:1'): string =>
  `apiVersion: v1\nkind: Pod\nmetadata:\n  name: ${name}\nspec:\n  containers:\n  - name: main\n    image: ${image}\n`;

let folder: string;
let clock: FakeClock;

beforeEach(async () => {
  folder = await temporaryFolder();
  clock = new FakeClock();
});

const put = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);

function sourceOf(...paths: string[]): FileSource {
  return sourceWith({}, ...paths);
}

function sourceWith(more: { lastGood?: LastGoodManifests }, ...paths: string[]): FileSource {
  return new FileSource({
    ...more,
    paths: paths.length === 0 ? [folder] : paths,
    nodeName: 'edge1',
    fileCheckFrequencyMs: 20_000,
    clock,
    logger: silentLogger,
  });
}

/** Names and images of the pods, and problems as `file: severity message`. */
async function read(source: FileSource): Promise<{ pods: string[]; problems: string[] }> {
  const { pods, problems } = await source.read();
  return {
    pods: pods.map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0]?.image ?? ''}`),
    problems: problems.map(
      ({ origin, severity, message }) => `${origin.replace(`${folder}/`, '')}: ${severity} ${message}`,
    ),
  };
}

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
        'deeper: warning ignored: its name does not end in .yaml, .yml, .json',
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

  test('a file that is replaced by a rename is read anew, even with size and time of the one before', async () => {
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
    expect(broken.problems.at(-1)).toBe('a.yaml: warning the last good revision of pod default/one-edge1 still runs');
    expect(broken.problems.some((problem) => problem.startsWith('a.yaml: error '))).toBe(true);
    await put('a.yaml', manifest('one', 'app:3'));
    expect(await read(source)).toEqual({ pods: ['one-edge1 app:3'], problems: [] });
  });

  test('a file that broke and then goes takes its pod with it', async () => {
    await put('a.yaml', manifest('one'));
    const source = sourceOf();
    await read(source);
    await put('a.yaml', 'no pod');
    await read(source);
    await rm(join(folder, 'a.yaml'));
    expect(await read(source)).toEqual({ pods: [], problems: [] });
  });

  test('of two files with one pod the one that was seen first stands', async () => {
    await put('b.yaml', manifest('one', 'first:1'));
    const source = sourceOf();
    await read(source);
    await put('a.yaml', manifest('one', 'second:1'));
    expect(await read(source)).toEqual({
      pods: ['one-edge1 first:1'],
      problems: [`a.yaml: error pod default/one-edge1 is declared by ${join(folder, 'b.yaml')} already`],
    });
    await rm(join(folder, 'b.yaml'));
    expect(await read(source)).toEqual({ pods: ['one-edge1 second:1'], problems: [] });
  });

  test('a link whose target went takes its pod with it', async () => {
    await put('real', manifest('one'));
    await symlink(join(folder, 'real'), join(folder, 'a.yaml'));
    const source = sourceOf();
    await read(source);
    await rm(join(folder, 'real'));
    expect(await read(source)).toEqual({ pods: [], problems: ['a.yaml: warning is a link to nothing'] });
  });
});

test('a file that broke while no agent ran keeps the pod of its last good revision', async () => {
  const lastGood = () => new LastGoodManifests({ rootDir: join(folder, 'root'), clock, logger: silentLogger });
  await put('a.yaml', manifest('one'));
  const saved = lastGood();
  const before = await sourceWith({ lastGood: saved }).read();
  await saved.retry();
  await put('a.yaml', 'broken');
  const after = await sourceWith({ lastGood: lastGood() }).read();
  expect(after.pods).toEqual(before.pods);
});

describe('what is no readable file', () => {
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

describe('a file that is being written', () => {
  test('is read when nothing was written to it for ten milliseconds', async () => {
    clock = new FakeClock(Date.now());
    await put('a.yaml', manifest('one'));
    let done = false;
    const reading = read(sourceOf()).finally(() => {
      done = true;
    });
    await untilSleeping();
    expect(done).toBe(false);
    await clock.advance(10);
    expect(await reading).toEqual({ pods: ['one-edge1 app:1'], problems: [] });
  });

  test('keeps what it said before, and the others are not kept waiting', async () => {
    clock = new FakeClock(Date.now() - 60_000);
    await put('a.yaml', manifest('one'));
    const source = sourceOf();
    await read(source);
    clock.setWallClock(Date.now());
    await put('a.yaml', manifest('one', 'app:'));
    const reading = read(source);
    await untilSleeping();
    await put('a.yaml', manifest('one', 'app:2'));
    await put('b.yaml', manifest('two'));
    clock.setWallClock(Date.now() + 60_000);
    await clock.advance(10);
    expect(await reading).toEqual({ pods: ['one-edge1 app:1'], problems: [] });
    expect(await read(source)).toEqual({ pods: ['one-edge1 app:2', 'two-edge1 app:1'], problems: [] });
  });

  /** The source looked at a file and waits to see whether it changes. */
  async function untilSleeping(): Promise<void> {
    while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve));
  }
});

describe('a running source', () => {
  function run(source: FileSource): SourceRecorder {
    const recorder = new SourceRecorder(source);
    onTestFinished(() => recorder.stop());
    return recorder;
  }

  test('hands over what there is at once, also when that is nothing', async () => {
    expect(await run(sourceOf()).next()).toEqual({ pods: [], problems: [] });
  });

  test('notices a file that comes, changes and goes', async () => {
    const recorder = run(sourceOf());
    await recorder.next();
    await put('a.yaml', manifest('one'));
    await recorder.nextWithPods('one-edge1');
    await rename(join(folder, 'a.yaml'), join(folder, 'b.yaml'));
    await put('b.yaml', manifest('two'));
    await recorder.nextWithPods('two-edge1');
    await rm(join(folder, 'b.yaml'));
    expect(await recorder.nextWithPods()).toEqual({ pods: [], problems: [] });
  });

  test('misses no file that comes while the watcher is starting', async () => {
    const recorder = run(sourceOf());
    await recorder.next();
    // The clock stands still: no rescan will find what the watcher does not tell.
    await put('a.yaml', manifest('one'));
    expect(await recorder.nextWithPods('one-edge1')).toEqual({ pods: ['one-edge1'], problems: [] });
  });

  test('notices a folder that comes later', async () => {
    const recorder = run(sourceOf(join(folder, 'manifests')));
    expect(await recorder.next()).toEqual({ pods: [], problems: ['error path does not exist'] });
    await mkdir(join(folder, 'manifests'));
    await put('manifests/a.yaml', manifest('one'));
    expect(await recorder.nextWithPods('one-edge1')).toEqual({ pods: ['one-edge1'], problems: [] });
  });

  test('notices a folder that comes later with the one above it', async () => {
    const recorder = run(sourceOf(join(folder, 'etc', 'manifests')));
    await recorder.next();
    await mkdir(join(folder, 'etc', 'manifests'), { recursive: true });
    await put('etc/manifests/a.yaml', manifest('one'));
    await recorder.nextWithPods('one-edge1');
  });

  test('notices a folder that is replaced', async () => {
    await mkdir(join(folder, 'manifests'));
    await put('manifests/a.yaml', manifest('one'));
    await mkdir(join(folder, 'next'));
    await put('next/a.yaml', manifest('two'));
    const recorder = run(sourceOf(join(folder, 'manifests')));
    await recorder.nextWithPods('one-edge1');
    await rename(join(folder, 'manifests'), join(folder, 'last'));
    await rename(join(folder, 'next'), join(folder, 'manifests'));
    await recorder.nextWithPods('two-edge1');
    await put('manifests/b.yaml', manifest('three'));
    await recorder.nextWithPods('two-edge1', 'three-edge1');
  });

  test('notices a link that is turned to another folder', async () => {
    await mkdir(join(folder, 'v1'));
    await put('v1/a.yaml', manifest('one'));
    await mkdir(join(folder, 'v2'));
    await put('v2/a.yaml', manifest('two'));
    await symlink('v1', join(folder, 'current'));
    const recorder = run(sourceOf(join(folder, 'current')));
    await recorder.nextWithPods('one-edge1');
    await symlink('v2', join(folder, 'next'));
    await rename(join(folder, 'next'), join(folder, 'current'));
    await recorder.nextWithPods('two-edge1');
  });

  test('notices a single file that is replaced by a rename', async () => {
    await put('pod.yaml', manifest('one'));
    const recorder = run(sourceOf(join(folder, 'pod.yaml')));
    await recorder.nextWithPods('one-edge1');
    await put('pod.yaml.new', manifest('two'));
    await rename(join(folder, 'pod.yaml.new'), join(folder, 'pod.yaml'));
    await recorder.nextWithPods('two-edge1');
  });

  test('looks again after the check period, for what no watcher tells', async () => {
    await mkdir(join(folder, 'store'));
    await put('store/real', manifest('one'));
    await mkdir(join(folder, 'links'));
    await symlink(join(folder, 'store', 'real'), join(folder, 'links', 'a.yaml'));
    const recorder = run(sourceOf(join(folder, 'links')));
    await recorder.nextWithPods('one-edge1');
    await rm(join(folder, 'store'), { recursive: true });
    const gone = recorder.nextWithPods();
    await clock.advance(20_000);
    await clock.advance(20_000);
    await gone;
  });

  test('ends when it is told to', async () => {
    const recorder = run(sourceOf());
    await recorder.next();
    await recorder.stop();
    expect(await recorder.ended).toEqual(new Error('the test is over'));
  });
});

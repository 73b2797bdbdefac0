import { chmod, mkdir, readdir, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { configMapManifest, type Declared, ManifestFolder, podManifest } from './manifest-folder.ts';
import { SourceRecorder } from '../source-recorder.ts';
import { podRef } from '../../../../src/api/values/pod-names.ts';
import { whileTimePasses } from '../while-time-passes.ts';

let folder: ManifestFolder;

beforeEach(async () => {
  folder = await ManifestFolder.make();
});

/** Names of what is kept on disk for the next life. */
const kept = (): Promise<string[]> => readdir(join(folder.rootDir, 'manifests-last-good'));

describe('a file that was written right before the agent starts', () => {
  beforeEach(async () => {
    // The clock of the files, so that what is written in a test is written now.
    folder = await ManifestFolder.make(new FakeClock(Date.now()));
    await folder.put('a.yaml', podManifest('one'));
    await folder.read(folder.start());
  });

  test('is what it says now, not its last good revision', async () => {
    await folder.put('a.yaml', podManifest('one', 'app:2'));
    expect((await folder.read(folder.start())).pods).toEqual(['one app:2']);
  });
});

describe('a file that broke while no agent ran', () => {
  test('stands for its last good revision, with the same UIDs and the age of that', async () => {
    await folder.put('a.yaml', podManifest('one'));
    const before = folder.start();
    await folder.read(before);
    const { pods } = await before.read();
    await folder.put('a.yaml', 'broken');
    await folder.clock.advance(3_600_000);
    const after = folder.start();
    expect((await folder.read(after)).pods).toEqual(['one app:1']);
    const update = await after.read();
    expect(update.pods).toEqual(pods);
    const savedAt = Date.UTC(2025, 0, 1);
    expect(update.problems.at(-1)).toEqual({
      origin: folder.at('a.yaml'),
      severity: 'error',
      message: 'its last good revision stays in use',
      lastGoodAt: savedAt,
      lastGoodPods: pods.map(podRef),
    });
  });

  test('stands for it life after life, until it is right', async () => {
    await folder.put('a.yaml', podManifest('one'));
    await folder.read(folder.start());
    await folder.put('a.yaml', 'broken');
    for (let life = 0; life < 3; life++) expect((await folder.read(folder.start())).pods).toEqual(['one app:1']);
    await folder.put('a.yaml', podManifest('one', 'app:2'));
    expect(await folder.read(folder.start())).toEqual({ pods: ['one app:2'], configObjects: [], problems: [] });
    await folder.put('a.yaml', 'broken');
    expect((await folder.read(folder.start())).pods).toEqual(['one app:2']);
  });

  test.each([
    ['a folder', () => mkdir(folder.at('a.yaml'))],
    ['a link to nothing', () => symlink('nowhere', folder.at('a.yaml'))],
    ['empty', () => folder.put('a.yaml', '')],
  ])('stands for it also when the file is %s now', async (_what, make) => {
    await folder.put('a.yaml', podManifest('one'));
    await folder.read(folder.start());
    await rm(folder.at('a.yaml'));
    await make();
    expect((await folder.read(folder.start())).pods).toEqual(['one app:1']);
  });

  test('gives what is good of it when it never was good', async () => {
    await folder.put('a.yaml', `${podManifest('one')}---\n${podManifest('two').replace('image', 'imagine')}`);
    const expected = { pods: ['one app:1'], configObjects: [] };
    expect(await folder.read(folder.start())).toMatchObject(expected);
    expect(await folder.read(folder.start())).toMatchObject(expected);
  });

  test('is a unit: while one of its documents is bad the whole last good revision stays in use', async () => {
    await folder.put('a.yaml', `${configMapManifest('settings', 'old')}---\n${podManifest('one')}`);
    const source = folder.start();
    await folder.read(source);
    await folder.put('a.yaml', `${configMapManifest('settings', 'new')}---\nkind: Pod\n`);
    const expected = { pods: ['one app:1'], configObjects: ['ConfigMap settings old'] };
    expect(await folder.read(source)).toMatchObject(expected);
    expect(await folder.read(folder.start())).toMatchObject(expected);
  });
});

describe('a file that was removed when the agent starts', () => {
  test('takes its pods with it, and what was kept of it', async () => {
    await folder.put('a.yaml', podManifest('one'));
    await folder.put('b.yaml', podManifest('two'));
    await folder.read(folder.start());
    expect(await kept()).toHaveLength(2);
    await rm(folder.at('a.yaml'));
    expect(await folder.read(folder.start())).toEqual({ pods: ['two app:1'], configObjects: [], problems: [] });
    expect(await kept()).toHaveLength(1);
  });

  test('takes its pods with it also when it is a path of manifests itself', async () => {
    await folder.put('a.yaml', podManifest('one'));
    await folder.read(folder.start(folder.at('a.yaml')));
    await rm(folder.at('a.yaml'));
    expect(await folder.read(folder.start(folder.at('a.yaml')))).toEqual({
      pods: [],
      configObjects: [],
      problems: ['a.yaml: error path does not exist'],
    });
    expect(await kept()).toEqual([]);
  });
});

test('a folder that is removed while the agent runs takes its pods with it a second later', async () => {
  await folder.put('a.yaml', podManifest('one'));
  const recorder = new SourceRecorder(folder.start());
  onTestFinished(() => recorder.stop());
  await whileTimePasses(folder.clock, recorder.nextWithPods('one-edge1'));
  const before = folder.clock.monotonic();
  await rm(folder.path, { recursive: true });
  await whileTimePasses(
    folder.clock,
    recorder.nextThat(({ pods }) => pods?.length === 0),
  );
  expect(folder.clock.monotonic() - before).toBeGreaterThanOrEqual(1000);
});

describe('a folder that is not there when the agent starts', () => {
  const absent = (name: string): Declared => ({
    pods: [`${name} app:1`],
    configObjects: [],
    problems: [`${folder.path}: error path does not exist; its last good manifests stay in use`],
  });

  beforeEach(async () => {
    await folder.put('a.yaml', podManifest('one'));
    await folder.read(folder.start());
    await rm(folder.path, { recursive: true });
  });

  test('stands for what was in it, however long it takes to come, life after life', async () => {
    for (let life = 0; life < 2; life++) {
      const source = folder.start();
      expect(await folder.read(source)).toEqual(absent('one'));
      await folder.clock.advance(3_600_000);
      expect(await folder.read(source)).toEqual(absent('one'));
    }
  });

  test('may be filled file by file once it was made', async () => {
    const recorder = new SourceRecorder(folder.start());
    onTestFinished(() => recorder.stop());
    await recorder.nextWithPods('one-edge1');
    await mkdir(folder.path);
    await recorder.nextThat(({ problems }) => problems.length === 0);
    await folder.clock.advance(4000);
    await folder.put('.new', podManifest('two'));
    await rename(folder.at('.new'), folder.at('b.yaml'));
    await recorder.nextThat(({ pods }) => pods?.includes('two-edge1') === true);
    await folder.put('.new', podManifest('one'));
    await rename(folder.at('.new'), folder.at('a.yaml'));
    await recorder.nextThat(({ pods }) => pods?.includes('two-edge1') === true);
    await whileTimePasses(folder.clock, folder.clock.sleep(10_000));
    expect(recorder.handed.filter(({ pods }) => pods?.includes('one-edge1') === false)).toEqual([]);
  });

  test('takes its pods with it when it is still empty five seconds after it was made', async () => {
    const recorder = new SourceRecorder(folder.start());
    onTestFinished(() => recorder.stop());
    await recorder.nextWithPods('one-edge1');
    await mkdir(folder.path);
    await recorder.nextThat(({ problems }) => problems.length === 0);
    const before = folder.clock.monotonic();
    expect(await whileTimePasses(folder.clock, recorder.nextWithPods())).toEqual({ pods: [], problems: [] });
    expect(folder.clock.monotonic() - before).toBeGreaterThanOrEqual(5000);
  });

  test('stands for what was in it also when the one above it is made first', async () => {
    const below = join(folder.path, 'manifests');
    await mkdir(below, { recursive: true });
    await folder.put('manifests/a.yaml', podManifest('one'));
    await folder.read(folder.start(below));
    await rm(folder.path, { recursive: true });
    const source = folder.start(below);
    await folder.read(source);
    await mkdir(folder.path);
    expect(await folder.read(source)).toEqual({
      pods: ['one app:1'],
      configObjects: [],
      problems: ['manifests: error path does not exist; its last good manifests stay in use'],
    });
  });
});

describe('a path that is away when the agent starts', () => {
  test('stands for what was there, with the age of that, until it is back', async () => {
    const below = join(folder.path, 'usb', 'manifests');
    await mkdir(below, { recursive: true });
    await folder.put('usb/manifests/a.yaml', podManifest('one'));
    await folder.put('usb/manifests/b.yaml', podManifest('two'));
    await folder.read(folder.start(below));
    await rename(folder.at('usb'), folder.at('elsewhere'));
    const source = folder.start(below);
    const away = await folder.read(source);
    expect({ ...away, pods: away.pods.sort() }).toEqual({
      pods: ['one app:1', 'two app:1'],
      configObjects: [],
      problems: [
        `usb/manifests: error path does not exist, nor does ${folder.at('usb')}; its last good manifests stay in use`,
      ],
    });
    expect((await source.read()).problems[0]?.lastGoodAt).toBe(Date.UTC(2025, 0, 1));
    await rename(folder.at('elsewhere'), folder.at('usb'));
    await rm(folder.at('usb/manifests/a.yaml'));
    expect(await folder.read(source)).toEqual({ pods: ['two app:1'], configObjects: [], problems: [] });
  });

  test('stands for nothing of another path', async () => {
    await mkdir(folder.at('one'));
    await mkdir(folder.at('two'));
    await folder.put('one/a.yaml', podManifest('one'));
    await folder.put('two/a.yaml', podManifest('two'));
    await folder.read(folder.start(folder.at('one'), folder.at('two')));
    await rm(folder.path, { recursive: true });
    expect((await folder.read(folder.start(folder.at('one')))).pods).toEqual(['one app:1']);
    expect(await kept()).toHaveLength(1);
  });

  test('stands for what was there also when it goes while the agent runs', async () => {
    const below = folder.at('usb/manifests');
    await mkdir(below, { recursive: true });
    await folder.put('usb/manifests/a.yaml', podManifest('one'));
    const source = folder.start(below);
    await folder.read(source);
    await rm(folder.at('usb'), { recursive: true });
    expect((await folder.read(source)).pods).toEqual(['one app:1']);
  });
});

describe('of files that declare the same object', () => {
  const declaredBy = (file: string): RegExp => new RegExp(`is declared by ${folder.at(file)} already`);

  test('the one that did so first gives it in the next life too, whatever it is called', async () => {
    await folder.put('z.yaml', podManifest('one', 'first:1'));
    const source = folder.start();
    await folder.read(source);
    await folder.put('a.yaml', podManifest('one', 'second:1'));
    await folder.read(source);
    await folder.put('b.yaml', podManifest('one', 'third:1'));
    await folder.read(source);
    const { pods, problems } = await folder.read(folder.start());
    expect(pods).toEqual(['one first:1']);
    expect(problems).toEqual([
      expect.stringMatching(declaredBy('z.yaml')),
      expect.stringMatching(declaredBy('z.yaml')),
    ]);
    await rm(folder.at('z.yaml'));
    expect((await folder.read(folder.start())).pods).toEqual(['one second:1']);
  });

  test('the one that was there before gives it when the other came while no agent ran', async () => {
    await folder.put('z.yaml', podManifest('one', 'first:1'));
    await folder.put('a.yaml', podManifest('two'));
    await folder.read(folder.start());
    await folder.put('a.yaml', `${podManifest('two')}---\n${podManifest('one', 'second:1')}`);
    expect((await folder.read(folder.start())).pods).toEqual(['two app:1', 'one first:1']);
  });

  test('a file that begins to declare an object later does not take it away from another one', async () => {
    await folder.put('a.yaml', podManifest('one'));
    await folder.put('b.yaml', podManifest('two', 'first:1'));
    const source = folder.start();
    await folder.read(source);
    await folder.put('a.yaml', `${podManifest('one')}---\n${podManifest('two', 'second:1')}`);
    expect((await folder.read(source)).pods).toEqual(['one app:1', 'two first:1']);
    expect((await folder.read(folder.start())).pods).toEqual(['one app:1', 'two first:1']);
  });

  test('ConfigMaps go by the same rule, and by themselves', async () => {
    await folder.put('b.yaml', configMapManifest('settings', 'first'));
    const source = folder.start();
    await folder.read(source);
    await folder.put('a.yaml', `${configMapManifest('settings', 'second')}---\n${podManifest('one')}`);
    expect(await folder.read(source)).toEqual({
      pods: ['one app:1'],
      configObjects: ['ConfigMap settings first'],
      problems: [`a.yaml: error ConfigMap default/settings is declared by ${folder.at('b.yaml')} already`],
    });
    await rm(folder.at('b.yaml'));
    expect(await folder.read(source)).toEqual({
      pods: ['one app:1'],
      configObjects: ['ConfigMap settings second'],
      problems: [],
    });
  });

  test('a UID is taken once, too', async () => {
    const withUID = (name: string): string => podManifest(name).replace('spec:', '  uid: "7"\nspec:');
    await folder.put('a.yaml', withUID('one'));
    await folder.put('b.yaml', withUID('two'));
    expect(await folder.read(folder.start())).toEqual({
      pods: ['one app:1'],
      configObjects: [],
      problems: [`b.yaml: error UID 7 is declared by ${folder.at('a.yaml')} already`],
    });
  });
});

test('what cannot be kept on disk runs all the same', async () => {
  await mkdir(folder.rootDir);
  await folder.put('root-in-the-way', '');
  await rename(folder.at('root-in-the-way'), join(folder.rootDir, 'manifests-last-good'));
  await folder.put('a.yaml', podManifest('one'));
  expect(await folder.read(folder.start())).toEqual({ pods: ['one app:1'], configObjects: [], problems: [] });
});

test('manifests and folders that others can change are named, and run', async () => {
  await folder.put('a.yaml', podManifest('one'));
  await chmod(folder.at('a.yaml'), 0o666);
  await chmod(folder.path, 0o777);
  const { pods, problems } = await folder.read(folder.start());
  expect(pods).toEqual(['one app:1']);
  expect(problems).toEqual([
    `${folder.path}: warning everybody on this machine can write to it`,
    'a.yaml: warning everybody on this machine can write to it',
  ]);
});

import { copyFile, type FileHandle, mkdir, open, rename, rm, symlink, unlink, utimes } from 'node:fs/promises';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { type Declared, ManifestFolder, podManifest } from './manifest-folder.ts';
import { SourceRecorder } from '../source-recorder.ts';
import { whileTimePasses } from '../while-time-passes.ts';

let folder: ManifestFolder;

beforeEach(async () => {
  // The clock of the files, so that what is written in a test is written now.
  folder = await ManifestFolder.make(new FakeClock(Date.now()));
});

/** Opens a manifest for writing, as something that is slow to write it does. */
async function openForWriting(name: string): Promise<FileHandle> {
  const file = await open(folder.at(name), 'w');
  onTestFinished(() => file.close());
  return file;
}

const declared = (...pods: string[]): Declared => ({ pods, configObjects: [], problems: [] });
/** Its first half is a manifest, too. */
const twoPods = [podManifest('one'), `---\n${podManifest('two')}`] as const;

describe('a file that was written in place', () => {
  test('is read when nothing changed for a tenth of a second', async () => {
    await folder.put('a.yaml', podManifest('one'));
    const before = folder.clock.monotonic();
    expect(await folder.read(folder.start())).toEqual(declared('one app:1'));
    expect(folder.clock.monotonic() - before).toBe(100);
  });

  test('is not read while its writer pauses less than that', async () => {
    const file = await openForWriting('a.yaml');
    await file.write(twoPods[0]);
    const source = folder.start();
    const reading = folder.read(source);
    await folder.clock.advance(90);
    await file.write(twoPods[1]);
    await file.close();
    expect(await reading).toEqual(declared('one app:1', 'two app:1'));
  });

  test('keeps its earlier content until it is quiet, and is reported and not waited for if that takes long', async () => {
    await folder.put('a.yaml', podManifest('zero'));
    const source = folder.start();
    await folder.read(source);
    const file = await openForWriting('a.yaml');
    const startedAt = folder.clock.monotonic();
    const reading = folder.read(source);
    for (let line = 0; folder.clock.monotonic() - startedAt < 1500; line += 1) {
      await file.write(`# ${line}\n`);
      await folder.clock.advance(50);
    }
    expect(await reading).toEqual({
      ...declared('zero app:1'),
      problems: ['a.yaml: warning is being written; it is read once it stays unchanged for 100 ms'],
    });
    await file.write(podManifest('one'));
    await folder.read(source);
    await folder.clock.advance(100);
    expect(await folder.read(source)).toEqual(declared('one app:1'));
  });

  test('keeps its last good content while it is broken', async () => {
    await folder.put('a.yaml', podManifest('zero'));
    await folder.read(folder.start());
    const file = await openForWriting('a.yaml');
    await file.write('apiVersion: [');
    expect((await folder.read(folder.start())).pods).toEqual(['zero app:1']);
  });

  test('gives an object before a file whose name comes later, though that one is read at once', async () => {
    await folder.put('new', podManifest('one', 'app:2'));
    await rename(folder.at('new'), folder.at('b.yaml'));
    await utimes(folder.at('b.yaml'), 0, 0);
    await folder.put('a.yaml', podManifest('one'));
    const expected = {
      pods: ['one app:1'],
      configObjects: [],
      problems: [`b.yaml: error Pod default/one-edge1 is declared by ${folder.at('a.yaml')} already`],
    };
    expect(await folder.read(folder.start())).toEqual(expected);
    expect(await folder.read(folder.start())).toEqual(expected);
  });

  test('is read while somebody has it open for reading', async () => {
    await folder.put('a.yaml', podManifest('one'));
    const file = await open(folder.at('a.yaml'), 'r');
    onTestFinished(() => file.close());
    expect(await folder.read(folder.start())).toEqual(declared('one app:1'));
  });

  test('is read once it was renamed, though another file of its name is being written', async () => {
    const file = await openForWriting('a.yaml');
    await file.write(twoPods[0]);
    await folder.put('new', podManifest('three'));
    await rename(folder.at('new'), folder.at('a.yaml'));
    expect((await folder.read(folder.start())).pods).toEqual(['three app:1']);
  });
});

describe('while a source runs', () => {
  test('what comes by a rename is read at once, and what is written in place when it is finished', async () => {
    const recorder = new SourceRecorder(folder.start());
    onTestFinished(() => recorder.stop());
    await recorder.next();
    await folder.renameIn('z.yaml', podManifest('zero'));
    await recorder.nextWithPods('zero-edge1');
    const file = await openForWriting('a.yaml');
    await file.write(twoPods[0]);
    // Something else shows that the watch told.
    await folder.renameIn('y.yaml', podManifest('three'));
    await recorder.nextThat(({ pods }) => pods?.includes('three-edge1') === true);
    const finished = recorder.nextThat(({ pods }) => pods?.includes('two-edge1') === true);
    await file.write(twoPods[1]);
    await file.close();
    await whileTimePasses(folder.clock, finished);
    const halves = recorder.handed.filter(({ pods }) => pods?.includes('one-edge1') !== pods?.includes('two-edge1'));
    expect(halves).toEqual([]);
  });
});

/** What people and programs do to manifests in several steps. A pause is longer than the time for one step. */
const inSteps: Record<string, (pause: () => Promise<void>) => Promise<void>> = {
  'renames a file': () => rename(folder.at('zero.yaml'), folder.at('a.yaml')),
  'renames a file to a later name': () => rename(folder.at('zero.yaml'), folder.at('zz.yaml')),
  'copies a file and removes the first': async (pause) => {
    await copyFile(folder.at('zero.yaml'), folder.at('a.yaml'));
    await pause();
    await unlink(folder.at('zero.yaml'));
  },
  'creates an empty file and fills it': async (pause) => {
    await folder.put('a.yaml', '');
    await pause();
    await folder.put('a.yaml', podManifest('one'));
  },
  'writes a file in two parts and closes it between': async (pause) => {
    await folder.put('a.yaml', 'apiVersion: [');
    await pause();
    await folder.put('a.yaml', podManifest('one'));
  },
  'opens a file long before it is written': async (pause) => {
    const file = await openForWriting('a.yaml');
    for (let times = 0; times < 30; times += 1) await pause();
    await file.write(podManifest('one'));
    await file.close();
  },
  'creates a link before its target': async (pause) => {
    await symlink('../target', folder.at('a.yaml'));
    await pause();
    await folder.put('../target', podManifest('one'));
  },
  'replaces the folder': async (pause) => {
    await rename(folder.path, `${folder.path}.old`);
    await pause();
    await mkdir(folder.path);
    await folder.put('zero.yaml', podManifest('zero'));
  },
  'replaces a file with a folder and that with a file': async (pause) => {
    await unlink(folder.at('zero.yaml'));
    await mkdir(folder.at('zero.yaml'));
    await pause();
    await rm(folder.at('zero.yaml'), { recursive: true });
    await folder.put('zero.yaml', podManifest('zero'));
  },
};

describe('no error is reported if somebody', () => {
  test.each(Object.entries(inSteps))('%s', async (_, doIt) => {
    await folder.put('zero.yaml', podManifest('zero'));
    const recorder = new SourceRecorder(folder.start());
    onTestFinished(() => recorder.stop());
    const pass = (ms: number): Promise<void> => whileTimePasses(folder.clock, folder.clock.sleep(ms));
    await pass(1000);
    await doIt(() => pass(200));
    await pass(5000);
    expect(recorder.handed.flatMap(({ problems }) => problems).filter((text) => text.startsWith('error'))).toEqual([]);
  });
});

test('an error that lasts is reported, and settle waits for it', async () => {
  await folder.put('zero.yaml', podManifest('zero'));
  const source = folder.start();
  const recorder = new SourceRecorder(source);
  onTestFinished(() => recorder.stop());
  await whileTimePasses(folder.clock, recorder.next());
  await folder.put('a.yaml', podManifest('zero'));
  await whileTimePasses(folder.clock, source.settle());
  expect(recorder.handed.at(-1)).toEqual({
    pods: undefined,
    problems: [`error Pod default/zero-edge1 is declared by ${folder.at('zero.yaml')} already`],
  });
});

import { cp, mkdir, rename, writeFile } from 'node:fs/promises';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type Declared, ManifestFolder, podManifest } from './manifest-folder.ts';
import { SourceRecorder } from '../source-recorder.ts';
import { whileTimePasses } from '../while-time-passes.ts';

let folder: ManifestFolder;
let mountPoints: string[];

beforeEach(async () => {
  folder = await ManifestFolder.make();
  mountPoints = ['/', folder.path];
  folder.readMountPoints = () => Promise.resolve([...mountPoints]);
  await folder.put('a.yaml', podManifest('one'));
  // What lies below the mount.
  await mkdir(`${folder.path}.below`);
});

/** Takes away what is mounted, and shows what is below. */
async function unmount(): Promise<void> {
  mountPoints = ['/'];
  await rename(folder.path, `${folder.path}.mounted`);
  await rename(`${folder.path}.below`, folder.path);
}

async function mount(): Promise<void> {
  await rename(folder.path, `${folder.path}.below`);
  await rename(`${folder.path}.mounted`, folder.path);
  mountPoints = ['/', folder.path];
}

/** Mounts another file system with the same files. Only then are the mount points read again. */
async function mountOther(): Promise<void> {
  await rename(folder.path, `${folder.path}.other`);
  await cp(`${folder.path}.other`, folder.path, { recursive: true, preserveTimestamps: true });
}

const standing = (): Declared => ({
  pods: ['one app:1'],
  configObjects: [],
  problems: [`${folder.path}: error nothing is mounted on ${folder.path}; its last good manifests stay in use`],
});
const well: Declared = { pods: ['one app:1'], configObjects: [], problems: [] };

describe('a folder that is not mounted any more', () => {
  test('stands for what was in it until it is mounted again, life after life', async () => {
    const source = folder.start();
    expect(await folder.read(source)).toEqual(well);
    await unmount();
    expect(await folder.read(source)).toEqual(standing());
    expect(await folder.read(folder.start())).toEqual(standing());
    const last = folder.start();
    expect(await folder.read(last)).toEqual(standing());
    await mount();
    expect(await folder.read(last)).toEqual(well);
  });

  test('is checked every second, because mounts are not reported', async () => {
    await folder.read(folder.start());
    await unmount();
    const recorder = new SourceRecorder(folder.start());
    onTestFinished(() => recorder.stop());
    await recorder.nextThat(({ problems }) => problems.length === 1);
    await mount();
    const isWell = recorder.nextThat(({ problems }) => problems.length === 0);
    expect(await whileTimePasses(folder.clock, isWell)).toEqual({ pods: ['one-edge1'], problems: [] });
  });

  test('ignores what lies below it, also if it was mounted during a check', async () => {
    let beforeAnswer = (): Promise<void> => Promise.resolve();
    folder.readMountPoints = async () => {
      await beforeAnswer();
      beforeAnswer = () => Promise.resolve();
      return [...mountPoints];
    };
    const source = folder.start();
    expect(await folder.read(source)).toEqual(well);
    await unmount();
    expect(await folder.read(source)).toEqual(standing());
    beforeAnswer = mount;
    expect(await folder.read(source)).toEqual(well);
    await unmount();
    expect(await folder.read(source)).toEqual(standing());
  });

  test.each([
    ['another revision', async () => writeFile(`${folder.path}.below/a.yaml`, podManifest('one', 'app:0'))],
    ['nothing', () => Promise.resolve()],
  ])('ignores what lies below it, %s, if it is unmounted during a check', async (_what, lay) => {
    let afterAnswer = (): Promise<void> => Promise.resolve();
    folder.readMountPoints = async () => {
      const answer = [...mountPoints];
      await afterAnswer();
      return answer;
    };
    await lay();
    const source = folder.start();
    expect(await folder.read(source)).toEqual(well);
    await mountOther();
    afterAnswer = () => {
      afterAnswer = () => Promise.resolve();
      return unmount();
    };
    expect(await folder.read(source)).toEqual(standing());
    expect(await folder.read(folder.start())).toEqual(standing());
  });
});

test('what is mounted over a folder takes the place of what was in it', async () => {
  mountPoints = ['/'];
  const source = folder.start();
  expect(await folder.read(source)).toEqual(well);
  await writeFile(`${folder.path}.below/b.yaml`, podManifest('two'));
  await unmount();
  mountPoints = ['/', folder.path];
  expect(await folder.read(source)).toEqual({ pods: ['two app:1'], configObjects: [], problems: [] });
});

test('the mount points are read again only if the folder is another one', async () => {
  let reads = 0;
  folder.readMountPoints = () => {
    reads += 1;
    return Promise.resolve(mountPoints);
  };
  const source = folder.start();
  const look = async (): Promise<number> => {
    reads = 0;
    expect(await folder.read(source)).toEqual(well);
    return reads;
  };
  await look();
  expect(await look()).toBe(0);
  await mountOther();
  expect(await look()).toBeGreaterThan(0);
});

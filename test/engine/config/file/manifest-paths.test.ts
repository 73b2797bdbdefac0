import { chmod, mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { ManifestPaths } from '../../../../src/engine/config/file/manifest-paths.ts';
import { PathGuard } from '../../../../src/engine/host/path-guard.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

let folder: string;
let mountPoints: string[];

beforeEach(async () => {
  folder = await realpath(await temporaryFolder());
  mountPoints = ['/'];
});

/** Looks at the path once. */
async function checkPath(path: string, mountedOn?: string): Promise<ManifestPaths> {
  const readMountPoints = (): Promise<string[]> => Promise.resolve(mountPoints);
  const paths = new ManifestPaths({
    guard: new PathGuard({ maxHung: 2 }),
    paths: [path],
    clock: new FakeClock(),
    readMountPoints,
  });
  if (mountedOn !== undefined) paths.mountPoints.set(path, mountedOn);
  await paths.check(() => true);
  return paths;
}

const problemsOf = (paths: ManifestPaths): string[] =>
  paths.problems(() => undefined).map(({ origin, severity, message }) => `${origin}: ${severity} ${message}`);

test('a folder has its files, by name, and says which are links and which are not read', async () => {
  await writeFile(join(folder, 'b.yaml'), '');
  await symlink('b.yaml', join(folder, 'a.yaml'));
  await mkdir(join(folder, 'c'));
  const paths = await checkPath(folder);
  expect([paths.files, paths.links]).toEqual([
    [join(folder, 'a.yaml'), join(folder, 'b.yaml')],
    [join(folder, 'a.yaml')],
  ]);
  const ignored = 'warning ignored: it is a folder, and folders in folders are not read';
  expect(problemsOf(paths)).toEqual([`${join(folder, 'c')}: ${ignored}`]);
  expect(paths.removedAtMs(join(folder, 'gone.yaml'))).toBe(0);
});

test('a folder that everybody can write to is warned of', async () => {
  await chmod(folder, 0o777);
  const paths = await checkPath(folder);
  expect(problemsOf(paths)).toEqual([`${folder}: warning everybody on this machine can write to it`]);
});

test('anything else that is there is a file, on what it is mounted on after all links', async () => {
  const file = join(folder, 'pod.yaml');
  await writeFile(file, '');
  const linked = join(await temporaryFolder(), 'linked.yaml');
  await symlink(file, linked);
  mountPoints = ['/', folder];
  const paths = await checkPath(linked);
  expect([paths.files, problemsOf(paths)]).toEqual([[linked], []]);
  paths.recordMountPoints(() => true);
  expect(paths.mountPoints).toEqual(new Map([[linked, folder]]));
});

test('what is missing from a folder that is there was removed', async () => {
  const path = join(folder, 'manifests');
  const paths = await checkPath(path);
  expect(problemsOf(paths)).toEqual([`${path}: error path does not exist`]);
  expect([paths.files, paths.removedAtMs(path), paths.isAway(path)]).toEqual([[], 0, false]);
});

test.each([
  ['with the folder above it', 'etc/manifests', /: error path does not exist, nor does \/.*\/etc$/],
  ['as it is a broken link', 'link', /: error is a broken link$/],
  ['as it cannot be looked at', 'file/manifests', /: error ENOTDIR/],
])('a path is away %s', async (_why, name, because) => {
  await symlink('nowhere', join(folder, 'link'));
  await writeFile(join(folder, 'file'), '');
  const path = join(folder, name);
  const paths = await checkPath(path);
  expect(problemsOf(paths)).toEqual([expect.stringMatching(because)]);
  expect([paths.isAway(path), paths.isAway(join(path, 'a.yaml')), paths.isUnmounted]).toEqual([true, true, false]);
});

test('a path is away when what it was on is not mounted, whatever is there now', async () => {
  await writeFile(join(folder, 'a.yaml'), '');
  const paths = await checkPath(folder, folder);
  expect(problemsOf(paths)).toEqual([`${folder}: error nothing is mounted on ${folder}`]);
  expect([paths.files, paths.isUnmounted, paths.isAway(join(folder, 'a.yaml'))]).toEqual([[], true, true]);
  mountPoints = ['/', folder];
  expect((await checkPath(folder, folder)).files).toEqual([join(folder, 'a.yaml')]);
});

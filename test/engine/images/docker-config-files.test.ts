import { execFileSync } from 'node:child_process';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { type DockerConfigPaths, readDockerConfigFiles } from '../../../src/engine/images/docker-config-files.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let places: DockerConfigPaths;
let broken: [path: string, because: string][];

beforeEach(async () => {
  const folder = await temporaryFolder();
  places = { rootDir: join(folder, 'root'), workingDir: join(folder, 'here'), home: join(folder, 'home') };
  broken = [];
});

const onBroken = (path: string, because: string): void => {
  broken.push([path, because]);
};

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

const entry = (user: string): object => ({ 'r.example': { username: user, password: 'pw' } });
const config = (user: string): string => JSON.stringify({ auths: entry(user) });
const user = async (): Promise<string | undefined> =>
  (await readDockerConfigFiles(places, onBroken)).get('r.example')?.username;

test('the first place that has a file counts, the older form after all of the newer', async () => {
  const { rootDir, workingDir, home } = places;
  const files = [
    join(rootDir, 'config.json'),
    join(workingDir, 'config.json'),
    join(home, '.docker', 'config.json'),
    join(rootDir, '.dockercfg'),
    join(workingDir, '.dockercfg'),
    join(home, '.dockercfg'),
  ];
  for (const path of files) {
    await write(path, path.endsWith('.dockercfg') ? JSON.stringify(entry(path)) : config(path));
  }
  const found: (string | undefined)[] = [];
  for (const path of files) {
    found.push(await user());
    await rm(path);
  }
  expect(found).toEqual(files);
  expect(await user()).toBeUndefined();
  expect(broken).toEqual([]);
});

test('what is written meanwhile counts at once', async () => {
  expect(await user()).toBeUndefined();
  await write(join(places.rootDir, 'config.json'), config('ada'));
  expect(await user()).toBe('ada');
  await write(join(places.rootDir, 'config.json'), config('bob'));
  expect(await user()).toBe('bob');
});

test('a file that is broken is told by its name alone, and the next one is taken', async () => {
  const path = join(places.rootDir, 'config.json');
  await write(path, `${config('ada')}}`);
  await write(join(places.workingDir, 'config.json'), config('bob'));
  expect(await user()).toBe('bob');
  expect(broken).toEqual([[path, 'is not a JSON object']]);
});

test('a file may be behind a link', async () => {
  const store = join(places.home, 'store.json');
  await write(store, config('ada'));
  await mkdir(places.rootDir, { recursive: true });
  await symlink(store, join(places.rootDir, 'config.json'));
  expect(await user()).toBe('ada');
});

test('a named pipe, a folder and a file that is far too large are passed over', async () => {
  const { rootDir, workingDir, home } = places;
  await mkdir(rootDir, { recursive: true });
  execFileSync('mkfifo', [join(rootDir, 'config.json')]);
  await mkdir(join(workingDir, 'config.json'), { recursive: true });
  await write(join(home, '.docker', 'config.json'), ' '.repeat(1024 * 1024 + 1));
  await write(join(home, '.dockercfg'), JSON.stringify(entry('ada')));
  expect(await user()).toBe('ada');
  expect(broken).toEqual([
    [join(rootDir, 'config.json'), `${join(rootDir, 'config.json')} is a named pipe, not a regular file`],
    [join(workingDir, 'config.json'), `${join(workingDir, 'config.json')} is a directory, not a regular file`],
    [join(home, '.docker', 'config.json'), `${join(home, '.docker/config.json')} is larger than 1048576 bytes`],
  ]);
});

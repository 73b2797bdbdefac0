import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { mountPointsUnder, mountTmpfs } from '../../src/engine/host/mounts.ts';
import { removeTree } from '../../src/engine/host/remove-tree.ts';
import { bindSubPath, type SubPath, subPathTarget } from '../../src/engine/volumes/sub-path.ts';
import { errorMessage } from '../../src/errors.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let folder: string;
let volumePath: string;
let target: string;

beforeEach(async () => {
  folder = await realpath(await temporaryFolder());
  volumePath = join(folder, 'volume');
  target = subPathTarget(partOf('any'));
  await mkdir(volumePath);
  await mkdir(join(folder, 'host'));
  await writeFile(join(folder, 'host', 'secret'), 'of the host');
  onTestFinished(async () => {
    for (const mountPoint of await mountPointsUnder(folder)) await execa('umount', ['-l', mountPoint]);
  });
});

const partOf = (path: string): SubPath => ({
  podDir: join(folder, 'pod'),
  volumeName: 'data',
  volumePath,
  path,
  containerName: 'web',
  mountIndex: 2,
});

const bind = (path: string): Promise<void> => bindSubPath(partOf(path));

/** The message of a refusal, which gives the cause. */
async function refusal(path: string): Promise<string> {
  try {
    await bind(path);
    return 'mounted';
  } catch (error) {
    return errorMessage(error);
  }
}

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o7777).toString(8);

/** Lines of mountinfo of this test. Their ids are unique while the mounts exist. */
const mountLines = async (): Promise<string[]> =>
  (await readFile('/proc/self/mountinfo', 'utf8')).split('\n').filter((line) => line.includes(folder));

/** Asserts that the mounted part of the volume is this file or folder itself. */
async function expectBound(path: string): Promise<void> {
  const [bound, wanted] = await Promise.all([lstat(target), lstat(join(volumePath, path))]);
  expect({ ino: bound.ino, mounts: await mountPointsUnder(join(folder, 'pod')) }).toEqual({
    ino: wanted.ino,
    mounts: [target],
  });
}

const couldNotPrepare = 'failed to prepare subPath for volumeMount "data" of container "web"';
const couldNotCreate = 'failed to create subPath directory for volumeMount "data" of container "web"';

test('a part of a volume is mounted below the folder of the pod, by volume, container and index', async () => {
  await mkdir(join(volumePath, 'a/b'), { recursive: true });
  await bind('a/b');
  expect(target).toBe(join(folder, 'pod/volume-subpaths/data/web/2'));
  await writeFile(join(target, 'file'), 'seen');
  expect(await readFile(join(volumePath, 'a/b/file'), 'utf8')).toBe('seen');
});

test('a file, a socket or a pipe may be a part of a volume, and nobody opens it', async () => {
  await writeFile(join(volumePath, 'file'), 'content');
  await execa('mkfifo', [join(volumePath, 'pipe')]);
  await bind('file');
  expect(await readFile(target, 'utf8')).toBe('content');
  await bind('pipe');
  expect((await lstat(target)).isFIFO()).toBe(true);
});

test('names need not be ASCII, and "." and repeated slashes mean nothing', async () => {
  await bind('größe//./ ü ');
  await expectBound('größe/ ü ');
});

describe('a folder that is missing', () => {
  test('is made with the permissions of the volume, and so are those above it, whatever the umask', async () => {
    await chmod(volumePath, 0o2777);
    await bind('a/b/c');
    await expectBound('a/b/c');
    expect(await Promise.all(['a', 'a/b', 'a/b/c'].map((path) => modeOf(join(volumePath, path))))).toEqual([
      '2777',
      '2777',
      '2777',
    ]);
  });

  test('belongs to the group of the volume when that has the setgid bit', async () => {
    await chown(volumePath, 0, 2000);
    await chmod(volumePath, 0o2770);
    await bind('a');
    expect((await stat(join(volumePath, 'a'))).gid).toBe(2000);
  });

  test('is made behind a link that stays in the volume', async () => {
    await mkdir(join(volumePath, 'real'));
    await symlink('real', join(volumePath, 'link'));
    await bind('link/new');
    await expectBound('real/new');
  });

  test('is not made behind a link out of the volume, nor where a link leads nowhere', async () => {
    await symlink(join(folder, 'host'), join(volumePath, 'out'));
    await symlink('../host', join(volumePath, 'up'));
    await symlink(join(folder, 'host/new'), join(volumePath, 'dangling'));
    expect(await refusal('out/new')).toBe(`${couldNotCreate}: the path is outside of the volume`);
    expect(await refusal('up/new')).toBe(`${couldNotCreate}: the path is outside of the volume`);
    expect(await refusal('dangling')).toBe(`${couldNotCreate}: dangling is a link`);
    expect(await refusal('dangling/new')).toBe(`${couldNotCreate}: dangling is a link`);
    expect(await readdir(join(folder, 'host'))).toEqual(['secret']);
  });

  test('keeps the permissions that it has when it is there already', async () => {
    await chmod(volumePath, 0o777);
    await mkdir(join(volumePath, 'a'), { mode: 0o700 });
    await bind('a');
    expect(await modeOf(join(volumePath, 'a'))).toBe('700');
  });
});

describe('a link', () => {
  test('is followed when it stays in the volume, whether it is relative or not', async () => {
    await mkdir(join(volumePath, 'a/b'), { recursive: true });
    await symlink('a', join(volumePath, 'link'));
    await symlink('../../volume/a/b', join(volumePath, 'a/around'));
    await symlink(join(volumePath, 'a/b'), join(volumePath, 'absolute'));
    for (const path of ['link/b', 'a/around', 'link/around', 'absolute']) {
      await bind(path);
      await expectBound('a/b');
    }
  });

  test('is rejected if it is outside of the volume, and nothing is mounted or left', async () => {
    await mkdir(join(folder, 'volume-beside'));
    const links = [
      '/',
      '/proc/self/root',
      '/dev/null',
      '..',
      '../host',
      join(folder, 'host/secret'),
      '../volume-beside',
    ];
    for (const [index, link] of links.entries()) {
      await symlink(link, join(volumePath, String(index)));
      expect(await refusal(String(index))).toBe(`${couldNotPrepare}: the path is outside of the volume`);
    }
    await symlink(join(folder, 'host'), join(volumePath, 'host'));
    expect(await refusal('host/secret')).toBe(`${couldNotPrepare}: the path is outside of the volume`);
    expect(await mountPointsUnder(folder)).toEqual([]);
    expect(await readdir(folder)).toEqual(['host', 'volume', 'volume-beside']);
  });

  test('that leads to itself is refused', async () => {
    await symlink('loop', join(volumePath, 'loop'));
    expect(await refusal('loop')).toBe(`${couldNotPrepare}: too many symbolic links encountered`);
  });
});

test('a path through something that is not a folder is refused', async () => {
  await writeFile(join(volumePath, 'file'), '');
  await execa('mkfifo', [join(volumePath, 'pipe')]);
  await execa('mknod', [join(volumePath, 'device'), 'c', '1', '3']);
  for (const path of ['file/x', 'pipe/x', 'device/x']) {
    expect(await refusal(path)).toBe(`${couldNotPrepare}: not a directory`);
  }
});

test('a path with ".." is refused here as well', async () => {
  await mkdir(join(volumePath, 'a'));
  expect(await refusal('a/../../host')).toBe(`${couldNotPrepare}: the path has a '..' in it`);
});

describe('a part that is mounted already', () => {
  test('stays when it is the same one', async () => {
    await bind('a');
    const before = await mountLines();
    await bind('a');
    expect(await mountLines()).toEqual(before);
  });

  test('is replaced when another one took its name, also one of another kind, and when the old one was deleted', async () => {
    await bind('a');
    await rename(join(volumePath, 'a'), join(volumePath, 'old'));
    await mkdir(join(volumePath, 'a'));
    await bind('a');
    await expectBound('a');
    await rm(join(volumePath, 'a'), { recursive: true });
    await writeFile(join(volumePath, 'a'), 'a file');
    await bind('a');
    await expectBound('a');
    await rm(join(volumePath, 'a'));
    await mkdir(join(volumePath, 'a'));
    await bind('a');
    await expectBound('a');
  });

  test('is not served any longer once its name leads out of the volume', async () => {
    await bind('a');
    await rename(join(volumePath, 'a'), join(volumePath, 'old'));
    await symlink(join(folder, 'host'), join(volumePath, 'a'));
    expect(await refusal('a')).toBe(`${couldNotPrepare}: the path is outside of the volume`);
  });
});

describe('what a crash left', () => {
  test('before the mount is used', async () => {
    await mkdir(target, { recursive: true });
    await writeFile(join(volumePath, 'file'), '');
    await bind('file');
    await expectBound('file');
  });

  test('after several mounts on one place is replaced', async () => {
    await mkdir(target, { recursive: true });
    await execa('mount', ['--bind', join(folder, 'host'), target]);
    await execa('mount', ['--bind', join(folder, 'host'), target]);
    await bind('a');
    await expectBound('a');
    expect(await readdir(join(folder, 'host'))).toEqual(['secret']);
  });

  test('is removed with the folder of the pod, and the volume keeps what is in it', async () => {
    await bind('a');
    await writeFile(join(target, 'file'), 'kept');
    await removeTree(join(folder, 'pod'));
    expect(await mountPointsUnder(folder)).toEqual([]);
    expect(await readFile(join(volumePath, 'a/file'), 'utf8')).toBe('kept');
    expect(await readdir(folder)).toEqual(['host', 'volume']);
  });
});

test('what the machine mounts below a volume stays mounted when a part of the volume is unmounted', async () => {
  await mountTmpfs(volumePath, 65_536n);
  await execa('mount', ['--make-shared', volumePath]);
  await bind('a');
  await mkdir(join(volumePath, 'a/disk'));
  await mountTmpfs(join(volumePath, 'a/disk'), 65_536n);
  await writeFile(join(volumePath, 'a/disk/file'), 'in use');
  expect(await readdir(join(target, 'disk'))).toEqual(['file']);
  await removeTree(join(folder, 'pod'));
  expect(await readFile(join(volumePath, 'a/disk/file'), 'utf8')).toBe('in use');
  expect(await mountPointsUnder(folder)).toEqual([join(volumePath, 'a/disk'), volumePath]);
});

/** Number of renameat2, because perl has no name for it. Its flag 2 exchanges two files. */
const renameat2 = process.arch === 'arm64' ? 276 : 316;

/** Changes that a container can repeat all the time on the folder `$a` of a volume. `$out` is outside the volume. */
const attacks = [
  {
    attack: 'a folder and a link that take the place of each other at once',
    script: `symlink $out, "$a.link"; while (1) { syscall(${renameat2}, -100, $a, -100, "$a.link", 2) == 0 || die $! }`,
  },
  {
    attack: 'a folder that is moved away for a link and back',
    script: 'while (1) { rename $a, "$a.$n"; symlink $out, $a; unlink $a; rename "$a.$n", $a or $n++ }',
  },
  {
    attack: 'a link that leads inside and outside in turn',
    script: `rename $a, "$a.in";
      while (1) { for $to ("$a.in", $out) { symlink $to, "$a.new"; rename "$a.new", $a } }`,
  },
];

test.each(attacks)('$attack does not lead out of the volume', async ({ script }) => {
  await mkdir(join(volumePath, 'a/b'), { recursive: true });
  await writeFile(join(volumePath, 'a/b/secret'), 'of the volume');
  await mkdir(join(folder, 'host/b'));
  await writeFile(join(folder, 'host/b/secret'), 'of the host');
  const words = ['-e', `($a, $out) = @ARGV; ${script}`, join(volumePath, 'a'), join(folder, 'host')];
  const attacker = execa('perl', words, { reject: false });
  try {
    for (let round = 0; round < 5; round += 1) {
      for (const path of ['a/b', 'a/new/c', 'a/b/secret']) {
        if ((await refusal(path)) !== 'mounted') continue;
        const seen = [target, join(target, 'secret')].map((file) => readFile(file, 'utf8').catch(() => ''));
        expect(await Promise.all(seen)).not.toContain('of the host');
        await removeTree(join(folder, 'pod'));
      }
    }
    // The attacker ran until now.
    expect(attacker.exitCode).toBeNull();
  } finally {
    attacker.kill('SIGKILL');
    await attacker;
  }
  expect({ host: await readdir(join(folder, 'host')), b: await readdir(join(folder, 'host/b')) }).toEqual({
    host: ['b', 'secret'],
    b: ['secret'],
  });
  expect(await mountPointsUnder(folder)).toEqual([]);
});

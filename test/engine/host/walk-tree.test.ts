import { mkdirSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { lstat, mkdir, readdir, rename, rmdir, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { type Visit, walkTree, type WalkLimits } from '../../../src/engine/host/walk-tree.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let folder: string;
let tree: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  tree = join(folder, 'tree');
  await mkdir(tree);
});

/** Names in the order in which the walk visits them. */
async function visited(limits: Partial<WalkLimits> = {}): Promise<string[]> {
  const names: string[] = [];
  const visit: Visit = (_folder, { name, isDirectory, isTooDeep = false }) => {
    names.push(`${name}${isDirectory ? '/' : ''}${isTooDeep ? ' is too deep' : ''}`);
    return Promise.resolve(undefined);
  };
  await walkTree(tree, visit, limits);
  return names;
}

test('a folder comes after what is in it, links are not followed', async () => {
  await mkdir(join(tree, 'a', 'b'), { recursive: true });
  await writeFile(join(tree, 'a', 'b', 'file'), '');
  await symlink(folder, join(tree, 'a', 'b', 'link'));
  const names = await visited();
  expect(names.slice(0, 2).sort()).toEqual(['file', 'link']);
  expect(names.slice(2)).toEqual(['b/', 'a/']);
});

test('of a folder with many files only some names are held at a time', async () => {
  const names = Array.from({ length: 600 }, (_, index) => `${index}-${'x'.repeat(200)}`);
  for (const name of names) writeFileSync(join(tree, name), '');
  let visits = 0;
  await walkTree(tree, () => {
    visits += 1;
    // What was not read by then is not visited.
    if (visits === 1) for (const name of names) rmSync(join(tree, name));
    return Promise.resolve(undefined);
  });
  expect(visits).toBeLessThan(names.length / 2);
});

test('of a folder with many folders only some names are held at a time', async () => {
  const pairs = Array.from({ length: 300 }, (_, index) => `${index}-${'x'.repeat(200)}`);
  for (const name of pairs) {
    writeFileSync(join(tree, name), '');
    mkdirSync(join(tree, `${name}-folder`));
  }
  const names = await visited({ maxNames: 10, minNames: 1 });
  // Folders are visited before all of the folder is read.
  expect(names.findIndex((name) => name.endsWith('/'))).toBeLessThan(
    names.findLastIndex((name) => !name.endsWith('/')),
  );
  expect(names.sort()).toEqual(pairs.flatMap((name) => [name, `${name}-folder/`]).sort());
});

test('folders that are too deep are visited and not entered', async () => {
  await mkdir(join(tree, 'a', 'b', 'c', 'd'), { recursive: true });
  expect(await visited({ maxLevels: 2 })).toEqual(['c/ is too deep', 'b/', 'a/']);
});

/** Makes folders in folders, each with a file, and returns the names of all in the form of `visited`. */
function makeFolders(path: string, width: number, levels: number, prefix = ''): string[] {
  writeFileSync(join(path, `${prefix}file`), '');
  const names = Array.from({ length: levels === 0 ? 0 : width }, (_, index) => `${prefix}${index}`);
  return [`${prefix}file`].concat(
    ...names.map((name) => {
      mkdirSync(join(path, name));
      return [`${name}/`, ...makeFolders(join(path, name), width, levels - 1, name)];
    }),
  );
}

/** Limits with which nearly every folder is read in parts, and most of them again. */
const tight: Partial<WalkLimits> = { maxNames: 0, minNames: 2, maxPartlyRead: 1 };

test('a folder of too many that are partly read is read again, and all is visited once', async () => {
  const names = makeFolders(tree, 5, 3);
  expect((await visited(tight)).sort()).toEqual(names.sort());
});

test('of a folder whose entries are removed nothing is passed over when it is read again', async () => {
  makeFolders(tree, 5, 3);
  const remove: Visit = async (here, { name, isDirectory }) => {
    await (isDirectory ? rmdir : unlink)(here.at(name));
    return 'removed';
  };
  await walkTree(tree, remove, tight);
  expect(await readdir(tree)).toEqual([]);
});

/** Folders below `path` that are open, each as often as it is open. */
const openBelow = (path: string): string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const open = readlinkSync(`/proc/self/fd/${fd}`);
      return open.startsWith(path) ? [open] : [];
    } catch {
      // That of this look.
      return [];
    }
  });

test('few folders are open at a time', async () => {
  makeFolders(tree, 5, 3);
  let most = 0;
  const visit: Visit = () => {
    most = Math.max(most, openBelow(tree).length);
    return Promise.resolve(undefined);
  };
  await walkTree(tree, visit, { ...tight, maxPartlyRead: 2 });
  // The current folder and two others.
  expect(most).toBe(3);
});

test('a large folder that is read on later stays open itself, because its reader may look at entries by it', async () => {
  for (let number = 0; number < 250; number++) {
    const name = `${'n'.repeat(100)}-${number}`;
    await mkdir(join(tree, name));
    await writeFile(join(tree, name, 'file'), '');
  }
  let open: string[] = [];
  await walkTree(
    tree,
    (_folder, { name }) => {
      expect(name).toBe('file');
      open = openBelow(tree);
      return Promise.resolve('stop');
    },
    { ...tight, maxPartlyRead: 2 },
  );
  expect(open.map((path) => path === tree).sort()).toEqual([false, true, true]);
});

test('a walk that fails or ends leaves no folder open', async () => {
  for (const path of ['a/b', 'a/c', 'd/b', 'd/c']) await mkdir(join(tree, path), { recursive: true });
  const open = readdirSync('/proc/self/fd').length;
  const failure = new Error('visit failed');
  await expect(walkTree(tree, () => Promise.reject(failure), { maxNames: 1, minNames: 1 })).rejects.toBe(failure);
  await walkTree(tree, () => Promise.resolve('stop'), { maxNames: 1, minNames: 1 });
  expect(readdirSync('/proc/self/fd')).toHaveLength(open);
});

test('the walk ends when a visit says so', async () => {
  for (const name of ['a', 'b', 'c']) await writeFile(join(tree, name), '');
  let visits = 0;
  await walkTree(tree, () => {
    visits += 1;
    return Promise.resolve(visits === 2 ? 'stop' : undefined);
  });
  expect(visits).toBe(2);
});

test('a folder that is replaced by a link while the walk is in it is still the one that is walked', async () => {
  await mkdir(join(tree, 'a'));
  await writeFile(join(tree, 'a', 'one'), '');
  await writeFile(join(tree, 'a', 'two'), '');
  await mkdir(join(folder, 'precious'));
  await writeFile(join(folder, 'precious', 'one'), '');
  await writeFile(join(folder, 'precious', 'two'), 'precious');
  const sizes: bigint[] = [];
  await walkTree(tree, async (here, { name, isDirectory }) => {
    if (!isDirectory) sizes.push((await lstat(here.at(name), { bigint: true })).size);
    if (sizes.length === 1 && !isDirectory) {
      await rename(join(tree, 'a'), join(tree, 'b'));
      await symlink(join(folder, 'precious'), join(tree, 'a'));
    }
    return undefined;
  });
  expect(sizes).toEqual([0n, 0n]);
});

test('a folder that moves away while the walk is in it ends the walk', async () => {
  await mkdir(join(tree, 'a'));
  await writeFile(join(tree, 'a', 'file'), '');
  const walk = walkTree(tree, async () => {
    await rename(join(tree, 'a'), join(folder, 'elsewhere'));
    return undefined;
  });
  await expect(walk).rejects.toThrow('a folder was moved while it was walked through');
});

test('a folder that is deleted before the walk enters it is not visited', async () => {
  await mkdir(join(tree, 'empty'));
  await mkdir(join(tree, 'full/inner'), { recursive: true });
  const visited: string[] = [];
  const visit: Visit = (_folder, { name }) => {
    visited.push(name);
    return Promise.resolve(undefined);
  };
  await walkTree(tree, visit, { beforeEntering: (_folder, name) => Promise.resolve(name === 'empty') });
  expect(visited).toEqual(['inner', 'full']);
});

test('folders are looked for again so many times, then the walk continues above them', async () => {
  await mkdir(join(tree, 'a', 'b', 'c', 'd'), { recursive: true });
  await writeFile(join(tree, 'a', 'b', 'c', 'd', 'file'), '');
  await mkdir(join(tree, 'a', 'other'));
  const names = async (maxFoundAgain: number): Promise<string[]> => {
    const visited: string[] = [];
    const visit: Visit = async (_folder, { name }) => {
      visited.push(name);
      if (name === 'file') await rename(join(tree, 'a', 'b', 'c', 'd'), join(tree, 'd'));
      return undefined;
    };
    await walkTree(tree, visit, { survivesMoves: true, maxFoundAgain });
    await rename(join(tree, 'd'), join(tree, 'a', 'b', 'c', 'd'));
    return visited.filter((name) => name !== 'other');
  };
  expect(await names(4)).toEqual(['file', '.', 'c', 'b', 'a']);
  expect(await names(3)).toEqual(['file', '.', 'b', 'a']);
  expect(await names(0)).toEqual(['file', '.']);
});

import * as fileSystem from 'node:fs/promises';
import { chmod, lstat, mkdir, readdir, readFile, readlink, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { toError } from '../../../src/errors.ts';
import { type FileOperations, hasCompleteContent, writeContent } from '../../../src/engine/volumes/atomic-writer.ts';
import type { VolumeContent } from '../../../src/engine/volumes/volume-content.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const now = Date.parse('2024-06-01T10:00:00Z');

let folder: string;
beforeEach(async () => {
  folder = join(await temporaryFolder(), 'volume');
  await mkdir(folder);
});

/** Files of mode 0644 by path. */
const contentOf = (files: Readonly<Record<string, string>>): VolumeContent =>
  new Map(Object.entries(files).map(([path, text]) => [path, { data: Buffer.from(text), mode: 0o644 }]));

/** Everything in a folder by path: mode and content of files, targets of links. Revisions are called `..revision`. */
async function treeOf(path: string, prefix = ''): Promise<Record<string, string>> {
  const tree: Record<string, string> = {};
  for (const name of (await readdir(path)).sort()) {
    const entry = join(path, name);
    const stats = await lstat(entry);
    const mode = (stats.mode & 0o7777).toString(8);
    const key = `${prefix}${withoutTime(name)}`;
    if (stats.isSymbolicLink()) tree[key] = `-> ${withoutTime(await readlink(entry))}`;
    else if (stats.isDirectory()) Object.assign(tree, { [key]: mode }, await treeOf(entry, `${key}/`));
    else tree[key] = `${mode} ${await readFile(entry, 'utf8')}`;
  }
  return tree;
}

const withoutTime = (text: string): string => text.replaceAll(/\.\.\d{4}(_\d\d){5}\.\d+/g, '..revision');

/** What a container reads. */
async function readAll(files: readonly string[]): Promise<Record<string, string>> {
  const contents = files.map(async (path) => [path, await readFile(join(folder, '..data', path), 'utf8')] as const);
  return Object.fromEntries(await Promise.all(contents));
}

describe('a volume of files', () => {
  test('is laid out as the kubelet does it', async () => {
    const content: VolumeContent = new Map([
      ['app.conf', { data: Buffer.from('a'), mode: 0o440 }],
      ['etc/deep/er.conf', { data: Buffer.from('b'), mode: 0o600 }],
    ]);
    expect(await writeContent(folder, content, { now })).toBe(true);
    expect(await treeOf(folder)).toEqual({
      '..data': '-> ..revision',
      '..revision': '755',
      '..revision/app.conf': '440 a',
      '..revision/etc': '755',
      '..revision/etc/deep': '755',
      '..revision/etc/deep/er.conf': '600 b',
      'app.conf': '-> ..data/app.conf',
      etc: '-> ..data/etc',
    });
    expect(await readlink(join(folder, '..data'))).toMatch(/^\.\.2024_06_01_10_00_00\.\d{1,10}$/);
  });

  test('may be empty', async () => {
    expect(await hasCompleteContent(folder)).toBe(false);
    await writeContent(folder, new Map(), { now });
    expect(await treeOf(folder)).toEqual({ '..data': '-> ..revision', '..revision': '755' });
    expect(await hasCompleteContent(folder)).toBe(true);
  });

  test('that is up to date is not touched', async () => {
    await writeContent(folder, contentOf({ a: '1', 'b/c': '2' }), { now });
    const before = await readdir(folder);
    const changes = new Set<string>();
    const files = observed((operation) => {
      if (!['readlink', 'readdir', 'lstat'].includes(operation)) changes.add(operation);
    });
    expect(await writeContent(folder, contentOf({ a: '1', 'b/c': '2' }), { now: now + 1000, files })).toBe(false);
    expect(await readdir(folder)).toEqual(before);
    expect([...changes]).toEqual([]);
  });

  test.each<[string, VolumeContent]>([
    ['a content', contentOf({ a: '2', 'b/c': '2' })],
    ['a mode', new Map([...contentOf({ a: '1', 'b/c': '2' }), ['a', { data: Buffer.from('1'), mode: 0o600 }]])],
    ['a new file', contentOf({ a: '1', 'b/c': '2', 'b/d': '3' })],
    ['a removed file', contentOf({ a: '1' })],
    ['a file replaced by a folder', contentOf({ 'a/x': '1', 'b/c': '2' })],
  ])('applies %s', async (_title, content) => {
    await writeContent(folder, contentOf({ a: '1', 'b/c': '2' }), { now });
    expect(await writeContent(folder, content, { now: now + 1000 })).toBe(true);
    const fresh = `${folder}-fresh`;
    await mkdir(fresh);
    await writeContent(fresh, content, { now });
    expect(await treeOf(folder)).toEqual(await treeOf(fresh));
  });

  test('is repaired if another program changed it', async () => {
    await writeContent(folder, contentOf({ a: '1', b: '2' }), { now });
    const before = await treeOf(folder);
    await writeFile(join(folder, '..data', 'a'), 'changed');
    await chmod(join(folder, '..data', 'b'), 0o777);
    await unlink(join(folder, 'a'));
    await symlink('..data/c', join(folder, 'c'));
    await writeContent(folder, contentOf({ a: '1', b: '2' }), { now: now + 1000 });
    expect(await treeOf(folder)).toEqual(before);
  });

  test('keeps folders in which other volumes are mounted', async () => {
    await mkdir(join(folder, 'nested', 'deep'), { recursive: true });
    await writeContent(folder, contentOf({ a: '1' }), { now });
    await writeContent(folder, contentOf({ b: '1' }), { now: now + 1000 });
    expect((await readdir(folder)).filter((name) => !name.startsWith('..'))).toEqual(['b', 'nested']);
    await expect(writeContent(folder, contentOf({ nested: '1' }), { now: now + 2000 })).rejects.toThrow(
      '"nested" is both a file of the volume and the mount point of another volume',
    );
    expect(await readAll(['b'])).toEqual({ b: '1' });
    expect(await hasCompleteContent(folder)).toBe(true);
  });

  test('is not complete while another volume is mounted in place of a file', async () => {
    await mkdir(join(folder, 'b'));
    await expect(writeContent(folder, contentOf({ a: '1', b: '2', c: '3' }), { now })).rejects.toThrow(
      '"b" is both a file of the volume and the mount point of another volume',
    );
    expect(await hasCompleteContent(folder)).toBe(false);
  });

  test('is not complete without the link of a file', async () => {
    await writeContent(folder, contentOf({ a: '1', 'b/c': '2' }), { now });
    expect(await hasCompleteContent(folder)).toBe(true);
    await unlink(join(folder, 'b'));
    expect(await hasCompleteContent(folder)).toBe(false);
  });

  test('publishes a revision only with its permissions', async () => {
    await writeContent(folder, contentOf({ a: '1' }), { now });
    let seen: unknown;
    const setPermissions = async (): Promise<void> => {
      seen = await readAll(['a']);
    };
    await writeContent(folder, contentOf({ a: '2' }), { now: now + 1000, setPermissions });
    expect(seen).toEqual({ a: '1' });
    expect(await readAll(['a'])).toEqual({ a: '2' });
  });

  test.each(['./a/b', 'a//b', 'a/./b', 'a/b/', 'a/b/.', './/a//b//'])(
    'has the file "%s" at its clean path',
    async (path) => {
      const clean = `${folder}-clean`;
      await mkdir(clean);
      await writeContent(clean, contentOf({ 'a/b': '1' }), { now });
      expect(await writeContent(folder, contentOf({ [path]: '1' }), { now })).toBe(true);
      expect(await treeOf(folder)).toEqual(await treeOf(clean));
      const before = await readdir(folder);
      expect(await writeContent(folder, contentOf({ [path]: '1' }), { now: now + 1000 })).toBe(false);
      expect(await readdir(folder)).toEqual(before);
    },
  );

  test('the last of two files with the same normalized path wins', async () => {
    await writeContent(folder, contentOf({ 'a//b': '1', 'a/b': '2', './a/b': '3' }), { now });
    expect(await readAll(['a/b'])).toEqual({ 'a/b': '3' });
  });

  test('rejects paths outside of it before anything is written', async () => {
    await expect(writeContent(folder, contentOf({ a: '1', '../b': '2' }), { now })).rejects.toThrow(
      'invalid path "../b" in the volume: must not contain ".."',
    );
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('a crash', () => {
  const was = { keep: 'same', change: 'old', 'gone/file': 'old' };
  const becomes = { keep: 'same', change: 'new', 'come/file': 'new' };

  /** Writes to a new folder with content `was`, if given, and dies at an operation. Returns false if it survived. */
  async function dieAt(operation: number, before: VolumeContent | undefined): Promise<boolean> {
    folder = join(await temporaryFolder(), 'volume');
    await mkdir(folder);
    if (before !== undefined) await writeContent(folder, before, { now });
    let operations = 0;
    const files = observed(() => {
      operations += 1;
      if (operations >= operation) throw new Error('killed');
    });
    return writeContent(folder, contentOf(becomes), { now: now + 1000, files }).then(
      () => false,
      () => true,
    );
  }

  test.each<[string, VolumeContent | undefined]>([
    ['the first write', undefined],
    ['an update', contentOf(was)],
  ])(
    'at any moment of %s leaves one complete revision, and the next write repairs the rest',
    async (_title, before) => {
      const fresh = join(await temporaryFolder(), 'fresh');
      await mkdir(fresh);
      await writeContent(fresh, contentOf(becomes), { now });
      let deaths = 0;
      while (await dieAt(deaths + 1, before)) {
        deaths += 1;
        const current = (await hasCompleteContent(folder)) ? (await readdir(join(folder, '..data'))).sort() : [];
        const whole = [[], Object.keys(becomes), ...(before === undefined ? [] : [Object.keys(was)])];
        expect(whole.map((files) => files.map((file) => file.split('/')[0]).sort())).toContainEqual(current);
        if (current.length > 0) {
          const isNew = current.includes('come');
          expect(await readAll(Object.keys(isNew ? becomes : was))).toEqual(isNew ? becomes : was);
        }
        await writeContent(folder, contentOf(becomes), { now: now + 2000 });
        expect(await treeOf(folder)).toEqual(await treeOf(fresh));
      }
      expect(deaths).toBeGreaterThan(15);
    },
  );

  test('followed by a write of the previous content leaves only that content', async () => {
    const before = contentOf(was);
    for (let operation = 1; await dieAt(operation, before); operation += 1) {
      await writeContent(folder, before, { now: now + 2000 });
      expect(await readAll(Object.keys(was))).toEqual(was);
      expect((await readdir(folder)).filter((name) => !name.startsWith('..')).sort()).toEqual([
        'change',
        'gone',
        'keep',
      ]);
      expect((await readdir(folder)).filter((name) => name.startsWith('..'))).toHaveLength(2);
    }
  });
});

/** The real file system. Calls `before` ahead of every operation, which it prevents by throwing. */
function observed(before: (operation: string) => void): FileOperations {
  return new Proxy(fileSystem, {
    get: (target, name, receiver) => {
      const operation: unknown = Reflect.get(target, name, receiver);
      if (typeof operation !== 'function') return operation;
      return (...args: unknown[]): unknown => {
        try {
          before(String(name));
        } catch (error) {
          return Promise.reject(toError(error));
        }
        return Reflect.apply(operation, undefined, args);
      };
    },
  });
}

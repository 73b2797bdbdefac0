import { execFileSync } from 'node:child_process';
import { mkdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { CutOffArchiveError } from '../../src/containerd/cut-off-archive.ts';
import {
  importedImageNames,
  importImagesFolder,
  type ImagesFolderOptions,
} from '../../src/containerd/import-images-folder.ts';
import { UserError } from '../../src/errors.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/**
 * An images folder with these files, and an importer that names an image after its archive and refuses content `bad`.
 */
async function imagesFolder(files: Record<string, string>) {
  const top = await temporaryFolder();
  const folder = join(top, 'images');
  await mkdir(folder);
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  const calls: string[] = [];
  const removed = new Set<string>();
  const options: ImagesFolderOptions = {
    folder,
    stateFile: join(top, 'state', 'imported-images.json'),
    store: 'store-1',
    isPresent: (name) => Promise.resolve(!removed.has(name)),
    importArchive: async (file) => {
      calls.push(file);
      if ((await readFile(file, 'utf8')) === 'bad') throw new UserError(`${file} is bad`);
      return [`localhost/${String(file.split('/').at(-1))}:1`];
    },
    signal: new AbortController().signal,
  };
  return { options, calls, removed, at: (name: string) => join(folder, name) };
}

test('imports every archive, and reports files that are none', async () => {
  const { options, at } = await imagesFolder({
    'b.tar.gz': '',
    'a.tar': '',
    '.c.tar': '',
    'a.tar.sha256': '',
    'README.md': '',
  });
  expect(await importImagesFolder(options)).toEqual({
    imported: [
      { file: at('a.tar'), names: ['localhost/a.tar:1'] },
      { file: at('b.tar.gz'), names: ['localhost/b.tar.gz:1'] },
    ],
    failed: [],
    unchanged: [],
    names: ['localhost/a.tar:1', 'localhost/b.tar.gz:1'],
    ignored: [at('README.md')],
  });
});

test('imports each archive once, until it changes', async () => {
  const { options, calls, at } = await imagesFolder({ 'a.tar': '1', 'b.tar': '1' });
  await importImagesFolder(options);
  expect(await importImagesFolder(options)).toEqual({
    imported: [],
    failed: [],
    unchanged: [at('a.tar'), at('b.tar')],
    names: ['localhost/a.tar:1', 'localhost/b.tar:1'],
    ignored: [],
  });
  await utimes(at('b.tar'), 1, 1);
  expect((await importImagesFolder(options)).imported).toEqual([{ file: at('b.tar'), names: ['localhost/b.tar:1'] }]);
  expect(calls).toEqual([at('a.tar'), at('b.tar'), at('b.tar')]);
});

test('imports an archive again if one of its images was removed', async () => {
  const { options, calls, removed, at } = await imagesFolder({ 'a.tar': '1', 'b.tar': '1' });
  await importImagesFolder(options);
  removed.add('localhost/b.tar:1');
  expect((await importImagesFolder(options)).unchanged).toEqual([at('a.tar')]);
  expect(calls).toEqual([at('a.tar'), at('b.tar'), at('b.tar')]);
});

test('imports all again into another store', async () => {
  const { options, calls, at } = await imagesFolder({ 'a.tar': '1' });
  await importImagesFolder(options);
  await importImagesFolder({ ...options, store: 'store-2' });
  expect(calls).toEqual([at('a.tar'), at('a.tar')]);
});

test('reports a bad archive, continues with the others, and tries it again at the next start', async () => {
  const { options, at } = await imagesFolder({ 'a.tar': 'bad', 'b.tar': '' });
  const failed = [{ file: at('a.tar'), error: new UserError(`${at('a.tar')} is bad`) }];
  expect(await importImagesFolder(options)).toEqual({
    imported: [{ file: at('b.tar'), names: ['localhost/b.tar:1'] }],
    failed,
    unchanged: [],
    names: ['localhost/b.tar:1'],
    ignored: [],
  });
  expect(await importImagesFolder(options)).toEqual({
    imported: [],
    failed,
    unchanged: [at('b.tar')],
    names: ['localhost/b.tar:1'],
    ignored: [],
  });
});

test('an archive whose end is missing is read once, until it changes', async () => {
  const { options, calls, at } = await imagesFolder({ 'a.tar': 'half', 'b.tar': '' });
  const importArchive = async (file: string): Promise<string[]> => {
    if ((await readFile(file, 'utf8')) !== 'half') return options.importArchive(file);
    calls.push(file);
    throw new CutOffArchiveError(file);
  };
  for (const imported of [[{ file: at('b.tar'), names: ['localhost/b.tar:1'] }], []])
    expect(await importImagesFolder({ ...options, importArchive })).toMatchObject({
      imported,
      failed: [{ file: at('a.tar'), error: new CutOffArchiveError(at('a.tar')) }],
      names: ['localhost/b.tar:1'],
    });
  expect(calls).toEqual([at('a.tar'), at('b.tar')]);
  await writeFile(at('a.tar'), 'whole');
  expect(await importImagesFolder({ ...options, importArchive })).toMatchObject({
    imported: [{ file: at('a.tar'), names: ['localhost/a.tar:1'] }],
    failed: [],
  });
});

test('an import that was ended keeps what it knew, and what it imported', async () => {
  const { options, calls, at } = await imagesFolder({ 'b.tar': '1', 'c.tar': '1' });
  await importImagesFolder(options);
  await writeFile(at('a.tar'), '1');
  const stopping = new AbortController();
  const isPresent = (name: string): Promise<boolean> => {
    if (name === 'localhost/b.tar:1') stopping.abort(new Error('stopped'));
    return stopping.signal.aborted ? Promise.reject(stopping.signal.reason as Error) : Promise.resolve(true);
  };
  const ended = importImagesFolder({ ...options, isPresent, signal: stopping.signal });
  await expect(ended).rejects.toThrow('stopped');
  const names = ['a', 'b', 'c'].map((name) => `localhost/${name}.tar:1`);
  expect((await importedImageNames(options.stateFile)).sort()).toEqual(names);
  expect((await importImagesFolder(options)).unchanged).toEqual([at('a.tar'), at('b.tar'), at('c.tar')]);
  expect(calls).toEqual([at('b.tar'), at('c.tar'), at('a.tar')]);
});

test.each<[string, Partial<ImagesFolderOptions>]>([
  ['a look at them', { isPresent: () => Promise.reject(new Error('no answer')) }],
  [
    'another import',
    { isPresent: () => Promise.resolve(false), importArchive: () => Promise.reject(new Error('no answer')) },
  ],
])('the names of the images of an unchanged archive stay known if %s fails', async (_what, changes) => {
  const { options, at } = await imagesFolder({ 'a.tar': '1' });
  await importImagesFolder(options);
  const names = ['localhost/a.tar:1'];
  expect(await importImagesFolder({ ...options, ...changes })).toEqual({
    imported: [],
    failed: [
      { file: at('a.tar'), error: new UserError(`Could not import the image archive ${at('a.tar')}: no answer`) },
    ],
    unchanged: [],
    names,
    ignored: [],
  });
  expect(await importedImageNames(options.stateFile)).toEqual(names);
});

test.each(['', '{', '{"store":"store-1","files":null}', '[]', 'null'])(
  'takes a broken state file (%j) for none, and names it',
  async (state) => {
    const { options, at } = await imagesFolder({ 'a.tar': '' });
    await importImagesFolder(options);
    await writeFile(options.stateFile, state);
    const { imported, ignoredList = '' } = await importImagesFolder(options);
    expect(imported).toEqual([{ file: at('a.tar'), names: ['localhost/a.tar:1'] }]);
    expect(ignoredList.startsWith(`${options.stateFile}: `)).toBe(true);
  },
);

test('does nothing without a folder', async () => {
  const { options } = await imagesFolder({});
  expect(await importImagesFolder({ ...options, folder: '/nonexistent/images' })).toEqual({
    imported: [],
    failed: [],
    unchanged: [],
    names: [],
    ignored: [],
  });
});

test('a folder that cannot be read is reported, and the images of earlier starts stay known', async () => {
  const { options, at } = await imagesFolder({ 'a.tar': '1' });
  await importImagesFolder(options);
  const moved = `${options.folder}.moved`;
  await rename(options.folder, moved);
  await writeFile(options.folder, '');
  const names = ['localhost/a.tar:1'];
  expect(await importImagesFolder(options)).toEqual({
    imported: [],
    failed: [],
    unchanged: [],
    names,
    ignored: [],
    unread: new UserError(`Could not read the images folder ${options.folder}: not a directory`, {
      hint: 'Make it a folder that root can read. The next start imports its archives.',
      cause: expect.objectContaining({ code: 'ENOTDIR' }),
    }),
  });
  expect(await importedImageNames(options.stateFile)).toEqual(names);
  await rm(options.folder);
  await rename(moved, options.folder);
  expect((await importImagesFolder(options)).unchanged).toEqual([at('a.tar')]);
});

test('the names of imported images are those of all archives, and none before the first import', async () => {
  const { options } = await imagesFolder({ 'a.tar': '1' });
  expect(await importedImageNames(options.stateFile)).toEqual([]);
  await importImagesFolder(options);
  expect(await importedImageNames(options.stateFile)).toEqual(['localhost/a.tar:1']);
});

test('a damaged list of imported images is an error, and not a list of none', async () => {
  const { options } = await imagesFolder({ 'a.tar': '1' });
  await importImagesFolder(options);
  await writeFile(options.stateFile, '{"store":');
  await expect(importedImageNames(options.stateFile)).rejects.toThrow(
    `${options.stateFile}, the list of imported images, cannot be read: `,
  );
  // The next start imports all again.
  expect((await importImagesFolder(options)).names).toEqual(['localhost/a.tar:1']);
});

test('a named pipe in place of the list of imported images is replaced, and no names are known from it', async () => {
  const { options } = await imagesFolder({ 'a.tar': '' });
  await mkdir(dirname(options.stateFile));
  execFileSync('mkfifo', [options.stateFile]);
  await expect(importedImageNames(options.stateFile)).rejects.toThrow('is a named pipe, not a regular file');
  expect((await importImagesFolder(options)).names).toEqual(['localhost/a.tar:1']);
  expect(await importedImageNames(options.stateFile)).toEqual(['localhost/a.tar:1']);
});

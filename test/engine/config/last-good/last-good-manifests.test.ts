import { chmod, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { maxLastGoodBytes } from '../../../../src/engine/config/last-good/last-good-format.ts';
import { LastGoodManifests, readLastGood } from '../../../../src/engine/config/last-good/last-good-manifests.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { silentLogger } from '../../../fakes/silent-logger.ts';

let rootDir: string;
let folder: string;
let clock: FakeClock;
let warnings: string[];
let onWarning: (warning: string) => void;

beforeEach(async () => {
  rootDir = await temporaryFolder();
  folder = join(rootDir, 'manifests-last-good');
  clock = new FakeClock(1000);
  warnings = [];
  onWarning = () => undefined;
});

/** As a new life of the agent has it. */
function open(): LastGoodManifests {
  const warn = (...words: unknown[]): void => {
    warnings.push(String(words[1]));
    onWarning(String(words[1]));
  };
  return new LastGoodManifests({ rootDir, clock, logger: { ...silentLogger, warn } });
}

const body = (text: string): Uint8Array => Buffer.from(text);

async function load(manifests: LastGoodManifests, where: string): Promise<object | undefined> {
  const found = await manifests.load('file', where);
  return found && { ...found, body: Buffer.from(found.body).toString() };
}

async function files(): Promise<string[]> {
  return (await readdir(folder)).map((name) => join(folder, name));
}

test('gives back what was saved, in the next life too, byte for byte and with its time', async () => {
  const more = { fetched: { etag: '"1"', signature: 'untrusted comment: …' } };
  await open().save('file', '/m/a.yaml', Buffer.from([0, 255, 10, 10, 128]), more);
  expect(await open().load('file', '/m/a.yaml')).toEqual({
    source: 'file',
    where: '/m/a.yaml',
    body: Buffer.from([0, 255, 10, 10, 128]),
    savedAt: 1000,
    ...more,
  });
  expect(await open().load('file', '/m/b.yaml')).toBeUndefined();
  expect(await open().load('http', '/m/a.yaml')).toBeUndefined();
});

test('is for the eyes of its owner alone', async () => {
  await open().save('file', '/m/a.yaml', body('secret'));
  const modes = await Promise.all([folder, ...(await files())].map(async (path) => (await stat(path)).mode & 0o777));
  expect(modes).toEqual([0o700, 0o600]);
});

test('keeps the newest revision of an origin, and one file for it', async () => {
  const manifests = open();
  await manifests.save('file', '/m/a.yaml', body('one'));
  await clock.advance(500);
  await manifests.save('file', '/m/a.yaml', body('two'));
  expect(await load(manifests, '/m/a.yaml')).toMatchObject({ body: 'two', savedAt: 1500 });
  expect(await files()).toHaveLength(1);
});

test('does not write what it has already, and keeps its time', async () => {
  await open().save('file', '/m/a.yaml', body('one'));
  const [file = ''] = await files();
  const { ino } = await stat(file);
  await clock.advance(500);
  await open().save('file', '/m/a.yaml', body('one'));
  expect(await files()).toEqual([file]);
  expect((await stat(file)).ino).toBe(ino);
  expect(await load(open(), '/m/a.yaml')).toMatchObject({ savedAt: 1000 });
});

test('ends with what was asked last, however fast it is asked', async () => {
  const manifests = open();
  await Promise.all([
    manifests.save('file', '/m/a.yaml', body('one')),
    manifests.save('file', '/m/b.yaml', body('one')),
    manifests.save('file', '/m/a.yaml', body('two')),
    manifests.remove('file', '/m/b.yaml'),
    manifests.save('file', '/m/c.yaml', body('one')),
  ]);
  const where = (await open().list('file')).map((entry) => [entry.where, Buffer.from(entry.body).toString()]);
  expect(where.sort()).toEqual([
    ['/m/a.yaml', 'two'],
    ['/m/c.yaml', 'one'],
  ]);
});

test('knows what was asked before the disk does', async () => {
  const manifests = open();
  await manifests.save('file', '/m/a.yaml', body('one'));
  const writing = [manifests.remove('file', '/m/a.yaml'), manifests.save('file', '/m/b.yaml', body('two'))];
  expect(await load(manifests, '/m/a.yaml')).toBeUndefined();
  expect(await load(manifests, '/m/b.yaml')).toMatchObject({ body: 'two' });
  await Promise.all(writing);
});

test('drops the given manifest of one source only', async () => {
  const manifests = open();
  for (const where of ['/m/a.yaml', '/m/b.yaml', '/m/c.yaml']) await manifests.save('file', where, body(where));
  await manifests.save('http', 'http://server/', body('pod'));
  await manifests.remove('file', '/m/a.yaml');
  await open().retain('file', ['/m/c.yaml']);
  const left = [...(await open().list('file')), ...(await open().list('http'))];
  expect(left.map(({ where }) => where)).toEqual(['/m/c.yaml', 'http://server/']);
});

test.each([
  ['cut off', (bytes: Buffer) => bytes.subarray(0, -1)],
  ['changed', (bytes: Buffer) => Buffer.concat([bytes.subarray(0, -1), Buffer.from('!')])],
  ['empty', () => Buffer.alloc(0)],
])('does not use what was %s, and says so', async (_what, spoil) => {
  await open().save('file', '/m/a.yaml', body('one'));
  const [file = ''] = await files();
  await writeFile(file, spoil(await readFile(file)));
  const manifests = open();
  expect(await load(manifests, '/m/a.yaml')).toBeUndefined();
  expect(warnings).toEqual(['A saved manifest cannot be used']);
  // What is saved then is written, though it has the same name.
  await manifests.save('file', '/m/a.yaml', body('one'));
  expect(await load(open(), '/m/a.yaml')).toMatchObject({ body: 'one' });
});

test('uses the newer one of two that a crash left, and the older one when the newer is torn', async () => {
  await open().save('file', '/m/a.yaml', body('one'));
  const [older = ''] = await files();
  const bytes = await readFile(older);
  await clock.advance(500);
  await open().save('file', '/m/a.yaml', body('two'));
  const [newer = ''] = await files();
  await writeFile(older, bytes);
  await writeFile(`${older}.4711.tmp`, 'half');
  expect(await load(open(), '/m/a.yaml')).toMatchObject({ body: 'two' });
  expect((await files()).sort()).toEqual([older, newer].sort());
  await writeFile(newer, 'torn');
  expect(await load(open(), '/m/a.yaml')).toMatchObject({ body: 'one' });
});

test('says once that nothing can be written, and writes it when it can', async () => {
  const manifests = open();
  await writeFile(folder, 'in the way');
  await manifests.save('file', '/m/a.yaml', body('one'));
  await manifests.save('file', '/m/b.yaml', body('one'));
  expect(warnings).toEqual(['Saved manifests cannot be read', 'Manifests cannot be saved for the next start']);
  await rm(folder);
  await manifests.retry();
  expect((await open().list('file')).map(({ where }) => where).sort()).toEqual(['/m/a.yaml', '/m/b.yaml']);
  expect(warnings).toHaveLength(2);
});

test('writes nothing that the next life could not read, and keeps the revision before it', async () => {
  const manifests = open();
  await manifests.save('file', '/m/a.yaml', body('one'));
  await Promise.all([
    manifests.save('file', '/m/a.yaml', Buffer.alloc(maxLastGoodBytes)),
    manifests.save('file', '/m/b.yaml', body('one')),
  ]);
  await manifests.retry();
  expect(warnings).toEqual(['Manifests cannot be saved for the next start']);
  expect(await manifests.isDurable('file', '/m/a.yaml')).toBe(false);
  expect(await manifests.isDurable('file', '/m/b.yaml')).toBe(true);
  expect(await load(open(), '/m/a.yaml')).toMatchObject({ body: 'one' });
  expect(await load(open(), '/m/b.yaml')).toMatchObject({ body: 'one' });
  await manifests.save('file', '/m/a.yaml', body('two'));
  expect(await load(open(), '/m/a.yaml')).toMatchObject({ body: 'two' });
});

test('writes what is asked for in the very moment in which the writer ends', async () => {
  await writeFile(folder, '');
  const manifests = open();
  // It warns as the last thing before it ends.
  const asked = new Promise<void>((resolve) => {
    onWarning = (warning) => {
      if (!warning.includes('cannot be saved')) return;
      queueMicrotask(() => {
        rmSync(folder);
        resolve(manifests.save('file', '/m/b.yaml', body('b')));
      });
    };
  });
  await manifests.save('file', '/m/a.yaml', body('a'));
  await asked;
  expect(await files()).toHaveLength(2);
});

describe('while the folder cannot be listed', () => {
  let manifests: LastGoodManifests;
  let isListable: () => Promise<void>;

  beforeEach(async () => {
    await open().save('file', '/m/a.yaml', body('one'));
    await open().save('file', '/m/gone.yaml', body('gone'));
    await rename(folder, `${folder}.away`);
    // Not even root can list a link to itself.
    await symlink(folder, folder);
    manifests = open();
    isListable = async () => {
      await rm(folder);
      await rename(`${folder}.away`, folder);
    };
  });

  test('does not report that nothing is saved, and uses what is saved later', async () => {
    const refused = expect.objectContaining({ code: 'ELOOP' }) as unknown;
    await expect(manifests.load('file', '/m/a.yaml')).rejects.toEqual(refused);
    await expect(manifests.list('file')).rejects.toEqual(refused);
    await expect(manifests.removeAll()).rejects.toEqual(refused);
    await isListable();
    expect(await load(manifests, '/m/a.yaml')).toMatchObject({ body: 'one' });
    expect(await files()).toHaveLength(2);
  });

  test('what is asked for is done afterwards, to what was there before', async () => {
    await manifests.retain('file', ['/m/a.yaml']);
    await manifests.save('file', '/m/b.yaml', body('two'));
    expect(warnings).toEqual(['Manifests cannot be saved for the next start']);
    await isListable();
    await manifests.retry();
    expect((await open().list('file')).map(({ where }) => where).sort()).toEqual(['/m/a.yaml', '/m/b.yaml']);
  });
});

test('does not mind a folder of somebody else’s making', async () => {
  await mkdir(folder);
  await chmod(folder, 0o755);
  await writeFile(join(folder, 'notes'), 'hello');
  await open().save('file', '/m/a.yaml', body('one'));
  expect(await load(open(), '/m/a.yaml')).toMatchObject({ body: 'one' });
  expect(await readdir(folder)).toContain('notes');
});

test('a removed manifest stays removed after a restart', async () => {
  await open().save('file', '/m/a.yaml', body('a'));
  await open().save('http', 'https://box.example', body('b'));
  await open().removeAll();
  expect([await open().list('file'), await open().list('http'), await files()]).toEqual([[], [], []]);
  await open().removeAll();
});

test('of a signed manifest that is torn down stays when it was signed, and no program takes it for declared', async () => {
  await open().save('http', 'https://box.example', body('b'), { fetched: { signature: 'sig' } });
  await open().removeAll();
  expect(await open().load('http', 'https://box.example')).toMatchObject({
    tornDown: true,
    fetched: { signature: 'sig' },
  });
  expect(await readLastGood(rootDir)).toEqual([]);
});

import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { EvictionRecords } from '../../../src/engine/eviction/eviction-records.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const uid = 'web';
const eviction = { message: 'The node was low on resource: memory. ', gracePeriodSeconds: 1 };
let folder: string;
let warnings: string[];

beforeEach(async () => {
  folder = await temporaryFolder();
  warnings = [];
  await mkdir(join(folder, uid));
});

const nextLife = (): EvictionRecords =>
  new EvictionRecords({
    podDir: (podUID) => join(folder, podUID),
    logger: { ...silentLogger, warn: (_facts: unknown, message?: string) => void warnings.push(message ?? '') },
  });

test('the next life knows an eviction, once', async () => {
  await nextLife().write(uid, eviction);
  const next = nextLife();
  await next.load([uid, 'other']);
  expect([next.take('other'), next.take(uid), next.take(uid)]).toEqual([undefined, eviction, undefined]);
  expect({ files: await readdir(join(folder, uid)), warnings }).toEqual({ files: ['eviction.json'], warnings: [] });
});

test('a pod whose folder was removed meanwhile has no record', async () => {
  await nextLife().write('gone', eviction);
  expect({ folders: await readdir(folder), warnings }).toEqual({ folders: [uid], warnings: [] });
});

test.each(['', '{"message":', 'null', '{"message":"text"}', '[]', '"text"'])(
  'a broken record counts as none, and is set aside with a warning: %s',
  async (text) => {
    await writeFile(join(folder, uid, 'eviction.json'), text);
    const next = nextLife();
    await next.load([uid]);
    expect(next.take(uid)).toBeUndefined();
    expect({ warnings, files: await readdir(join(folder, uid)) }).toEqual({
      warnings: ['A damaged state file was set aside'],
      files: ['eviction.json.damaged'],
    });
  },
);

test('a record that cannot be read is skipped with a warning', async () => {
  const tooLong = 'u'.repeat(300);
  const next = nextLife();
  await next.load([tooLong]);
  expect(next.take(tooLong)).toBeUndefined();
  expect(warnings).toEqual(['Reading the eviction of a pod failed']);
});

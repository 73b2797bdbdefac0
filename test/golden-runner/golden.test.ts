import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { findGoldenFiles } from './golden-file.ts';
import { replayOf } from './replay.ts';
import { tableAdapters, tablesToCome } from './table-adapters.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const files = ['golden', 'golden-own'].flatMap((folder) => findGoldenFiles(`${root}${folder}`));
const answered = new Set(tableAdapters.map(({ table }) => table));
const isAnswered = (file: (typeof files)[number]): boolean => file.kind !== 'table' || answered.has(file.table);
// test/component/recorded-servers.test.ts replays the others, because they need whole agents.
const isTest = (file: (typeof files)[number]): boolean => isAnswered(file) && file.kind !== 'server';

describe.each(files.filter(isTest).map((file) => ({ path: relative(root, file.path), file })))(
  'the kubelet that was recorded in $path',
  ({ file }) => {
    const { cases, end } = replayOf(file);
    afterAll(() => end?.());
    test.each(cases)('is agreed with in case $name', async ({ run }) => {
      expect(await run()).not.toHaveProperty('because');
    });
  },
);

test('every table is answered by something in src, but for those of parts that are not built', () => {
  expect(files.flatMap((file) => (isAnswered(file) || file.kind !== 'table' ? [] : [file.table]))).toEqual(
    tablesToCome,
  );
});

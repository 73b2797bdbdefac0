import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { type FolderChange, FolderWatch } from '../../../src/engine/host/folder-watch.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { Journal } from '../../fakes/journal.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let folder: string;
let clock: FakeClock;
let changes: Journal<FolderChange>;
let watch: FolderWatch;

beforeEach(async () => {
  folder = await temporaryFolder();
  clock = new FakeClock();
  changes = new Journal();
  const onChange = (change: FolderChange): void => {
    changes.add(change);
  };
  watch = new FolderWatch({ onChange, clock, logger: silentLogger });
  onTestFinished(() => {
    watch.keepOnly(new Set());
  });
});

test('names the entry that was written in place, and the one that came', async () => {
  await writeFile(join(folder, 'a.yaml'), 'a');
  await watch.add(folder);
  await appendFile(join(folder, 'a.yaml'), 'a');
  expect(await changes.next(() => true)).toEqual({ folder, name: 'a.yaml', how: 'written' });
  await mkdir(join(folder, 'b'));
  expect(await changes.next(({ how }) => how === 'entry')).toEqual({ folder, name: 'b', how: 'entry' });
});

test('a folder in which something changes all the time is checked once a second', async () => {
  await watch.add(folder);
  const isBusy = changes.next(() => changes.items.length > 250);
  for (let line = 0; line <= 260; line++) await appendFile(join(folder, 'log'), 'line');
  await isBusy;
  const named = changes.items.length;
  await watch.add(folder);
  await appendFile(join(folder, 'log'), 'line');
  const rested = changes.next(({ name }) => name === undefined);
  await clock.advance(1000);
  expect(await rested).toEqual({ folder, name: undefined, how: 'entry' });
  expect(changes.items).toHaveLength(named + 1);
  await watch.add(folder);
  await appendFile(join(folder, 'next'), 'line');
  expect(await changes.next(({ name }) => name === 'next')).toEqual({ folder, name: 'next', how: 'entry' });
});

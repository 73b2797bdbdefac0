import { expect, test } from 'vitest';
import { type FilesystemFigures, Filesystems } from '../../../src/engine/stats/filesystem-stats.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

const figures: FilesystemFigures = {
  ...{ availableBytes: 1, capacityBytes: 2, usedBytes: 1 },
  ...{ inodesFree: 3, inodes: 5, inodesUsed: 2 },
};

test('a disk that does not answer is waited for ten seconds, and two while its first read has not ended', async () => {
  const clock = new FakeClock();
  let answer: (read: FilesystemFigures) => void = () => undefined;
  let reads = 0;
  const filesystems = new Filesystems(clock, () => {
    reads += 1;
    return new Promise((resolve) => {
      answer = resolve;
    });
  });
  const ends: unknown[] = [];
  const read = (): void => void filesystems.read('/hung').then((end) => ends.push(end));
  read();
  await clock.advance(9999);
  expect(ends).toEqual([]);
  await clock.advance(1);
  expect(ends).toEqual([undefined]);
  read();
  await clock.advance(1999);
  expect(ends).toEqual([undefined]);
  await clock.advance(1);
  expect([ends, reads]).toEqual([[undefined, undefined], 1]);
  answer(figures);
  await clock.advance(0);
  read();
  answer(figures);
  await clock.advance(0);
  expect([ends, reads]).toEqual([[undefined, undefined, figures], 2]);
});

test('a path that is missing has no figures', async () => {
  expect(await new Filesystems(new FakeClock()).read('/missing')).toBeUndefined();
});

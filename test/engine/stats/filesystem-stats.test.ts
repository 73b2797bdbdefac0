import { expect, test } from 'vitest';
import { type FilesystemSize, Filesystems } from '../../../src/engine/stats/filesystem-stats.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

const figures: FilesystemSize = {
  ...{ availableBytes: 1, capacityBytes: 2, usedBytes: 1 },
  ...{ inodesFree: 3, inodes: 5, inodesUsed: 2 },
};

/** Reads of one disk that the test answers. */
class HeldReads {
  readonly clock = new FakeClock();
  readonly ends: unknown[] = [];
  begun = 0;
  #answer: (read: FilesystemSize) => void = () => undefined;
  readonly #filesystems = new Filesystems(this.clock, () => {
    this.begun += 1;
    return new Promise((resolve) => {
      this.#answer = resolve;
    });
  });

  read(): void {
    void this.#filesystems.read('/disk').then((end) => this.ends.push(end));
  }

  async answer(): Promise<void> {
    this.#answer(figures);
    await this.clock.advance(0);
  }

  /** Milliseconds until the next read is given up. */
  async patienceMs(): Promise<number> {
    const [before, from] = [this.ends.length, this.clock.monotonic()];
    this.read();
    while (this.ends.length === before) await this.clock.advance(1000);
    return this.clock.monotonic() - from;
  }
}

test('a disk that does not answer is waited for ten seconds, and two while its first read has not ended', async () => {
  const reads = new HeldReads();
  expect([await reads.patienceMs(), await reads.patienceMs(), reads.begun]).toEqual([10_000, 2000, 1]);
  expect(reads.ends).toEqual([undefined, undefined]);
});

test('waits two seconds for a disk whose last read was slow, until a read is quick again', async () => {
  const reads = new HeldReads();
  reads.read();
  await reads.clock.advance(3000);
  await reads.answer();
  expect([[...reads.ends], await reads.patienceMs()]).toEqual([[figures], 2000]);
  await reads.answer();
  reads.read();
  await reads.answer();
  expect([[...reads.ends], await reads.patienceMs()]).toEqual([[figures, undefined, figures], 10_000]);
});

test('drops a slow disk after a thousand others, because volumes come and go', async () => {
  const clock = new FakeClock();
  const answers: (() => void)[] = [];
  const filesystems = new Filesystems(
    clock,
    () =>
      new Promise((resolve) =>
        answers.push(() => {
          resolve(figures);
        }),
      ),
  );
  const slowRead = async (path: string): Promise<void> => {
    const read = filesystems.read(path);
    await clock.advance(200);
    answers.shift()?.();
    await read;
  };
  for (let volume = 0; volume <= 1000; volume += 1) await slowRead(`/${volume}`);
  let isOver = false;
  void filesystems.read('/0').then(() => (isOver = true));
  await clock.advance(9999);
  expect(isOver).toBe(false);
  await clock.advance(1);
  expect(isOver).toBe(true);
});

test('a path that is missing has no figures', async () => {
  expect(await new Filesystems(new FakeClock()).read('/missing')).toBeUndefined();
});
